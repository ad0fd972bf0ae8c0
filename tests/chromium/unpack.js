// Unpacks what npm brought into TMPDIR, the folder that the package writes to.
import { fileURLToPath } from "node:url";
import chromium, { inflate } from "@sparticuz/chromium";

await chromium.executablePath();
// The libraries that it leaves packed wherever it is not on Amazon's servers.
await inflate(fileURLToPath(new URL("../bin/al2023.tar.br", import.meta.resolve("@sparticuz/chromium"))));
