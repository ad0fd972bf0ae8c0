/** Runs the nets of the playground, apart from the page, which stays responsive. */
import { ort, serve, sessions } from "../../js/runtime.js";

const whole = (numbers) => new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), [numbers.length]);

serve(async ({ net, tokens, switches }) => {
  const outputs = await sessions[net].run({ tokens: whole(tokens), switches: whole(switches) });
  return { n: tokens.length, ...Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, tensor.data])) };
});
