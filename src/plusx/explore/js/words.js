/**
 * The tags that plotly sets in titles and names, as nodes and as plain text, as words.py has them; and what is said of a
 * link.
 */

const PAIR = /<(b|i|em|strong|sub|sup|s|u)>(.*?)<\/\1>/s;
const [LOW, LOWERED] = ["0123456789+-=()aeoxhklmnpst", [..."₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₕₖₗₘₙₚₛₜ"]];
const [HIGH, RAISED] = ["0123456789+-=()ni", [..."⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ"]];

const cleaned = (/** @type {string} */ text) => text.replace(/<br ?\/?>/g, " ");

/** @type {(text: string) => (Node | string)[]} */
export const tagged = (text) => {
  const pair = PAIR.exec(cleaned(text));
  if (!pair) return [cleaned(text)];
  const node = document.createElement(pair[1]);
  node.append(...tagged(pair[2]));
  return [pair.input.slice(0, pair.index), node, ...tagged(pair.input.slice(pair.index + pair[0].length))];
};

/** @type {(text: string) => string} */
export const plain = (text) => cleaned(text).replace(new RegExp(PAIR, "gs"), (_, tag, inner) => moved(plain(inner), tag));

/** @type {(text: string, tag: string) => string} */
const moved = (text, tag) => {
  if (tag !== "sub" && tag !== "sup") return text;
  const [from, to] = tag === "sub" ? [LOW, LOWERED] : [HIGH, RAISED];
  const letters = [...text];
  return letters.every((letter) => from.includes(letter)) ? letters.map((letter) => to[from.indexOf(letter)]).join("") : ` ${text}`;
};

/** Of a link that asks for what there is not; "" of any other. @type {(asked: string[]) => string} */
export const notOffered = (asked) =>
  asked.length ? `The link asks for ${asked.join(", ").slice(0, 80)}, which is not offered here.` : "";
