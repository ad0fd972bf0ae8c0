/** Runs the nets of the playground, apart from the page, which stays responsive. */
import { serve, sessions, whole } from "../../js/runtime.js";

serve(async ({ net, tokens, switches }) => {
  const outputs = await sessions[net].run({ tokens: whole(tokens), switches: whole(switches) });
  return { n: tokens.length, ...Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, tensor.data])) };
});
