/** What a net has answered, in words and in pictures. */

import { make } from "../../../explore/js/elements.js";
import { Panel } from "../../js/panel.js";
import { enlarge, paint } from "./canvas.js";
import { logProbabilities, mean, meanCosine, percent, short, shown, spoken } from "./readings.js";

export const where = (layer) => (layer ? `after layer ${layer}` : "before layer 1");

export class Answer extends Panel {
  /**
   * What was last computed, which need not be of the present state: that may want nets that are not loaded. In two
   * tasks, so that a slow phone shows the answer before it paints the large picture.
   */
  async draw() {
    const { seen } = this;
    const [net, text, switches] = this.seenState;
    const { n } = seen;
    const tokens = [...text];
    this.drawAnswer(net, tokens, this.changes(switches));
    this.paintedIn = this.colours();
    for (const map of this.maps) {
      paint(map.button.firstChild, this.square(map), n, this.paintedIn[map.part === "attention" ? 0 : 1]);
      map.button.setAttribute("aria-pressed", map === this.large);
    }
    for (const [layer, words] of this.layerWords.entries()) {
      const length = mean(seen.norm.subarray(layer * n, (layer + 1) * n));
      words.replaceChildren(make("span", {}, `cosine ${short(meanCosine(seen, layer))}`), make("span", {}, `length ${short(length)}`));
    }
    await new Promise((resolve) => setTimeout(resolve));
    if (seen !== this.seen) return; // drawn anew meanwhile
    enlarge(this.largeCanvas, this.large.button.firstChild, tokens, this.paintedIn[2]);
    this.largeCaption.textContent = this.told(this.large);
    this.largeCanvas.setAttribute("aria-label", this.largeCaption.textContent);
  }

  /** The result in a sentence, and how sure the net is. */
  drawAnswer(net, tokens, changes) {
    const { seen } = this;
    const { n } = seen;
    const { alphabet } = net;
    const wanted = net.causal ? tokens.slice(1) : [...tokens].sort();
    const logs = tokens.map((_, place) => logProbabilities(seen.scores, (net.layers * n + place) * alphabet.length, alphabet.length));
    const said = logs.map((row) => alphabet[row.indexOf(Math.max(...row))] ?? "–");
    const sure = wanted.map((token, place) => logs[place][alphabet.indexOf(token)]);
    const loss = short(-mean(sure));
    const last = logs.at(-1);
    let title, parts, bars;
    if (net.causal) {
      const order = last.map((_, i) => i).sort((a, b) => last[b] - last[a]).slice(0, 6);
      title = "The next character";
      parts = [`next: ${spoken(said.at(-1))}, ${percent(Math.exp(Math.max(...last)))}`];
      if (n > 1) parts.unshift(`${loss} nats per character on this text (guessing ${Math.log(alphabet.length).toFixed(2)})`);
      bars = order.map((token) => [alphabet[token], last[token], ""]);
    } else {
      const right = wanted.filter((token, place) => said[place] === token).length;
      title = "The answer, and how sure the net is of the right digit";
      parts = [`answer ${said.join("")}: ${right} of ${n} places right`, `loss ${loss}`];
      bars = wanted.map((token, place) => [said[place], sure[place], said[place] === token ? "" : `, right: ${token}`]);
    }
    if (n > 1) parts.push(`mean cosine of the tokens at the end ${short(meanCosine(seen, net.layers))}`);
    const state = changes.length > 3 ? `${changes.length} switches changed` : changes.join(", ") || "as trained";
    const isPresent = !this.root.classList.contains("pg-stale");
    if (isPresent) this.result.textContent = `${state[0].toUpperCase()}${state.slice(1)}: ${parts.join("; ")}.`;
    this.barsTitle.textContent = title;
    this.bars.replaceChildren(...bars.map(([token, log, note]) => make("li", {},
      make("span", { class: "pg-token" }, make("span", { "aria-hidden": "true" }, shown(token)), make("span", { class: "pn-hidden" }, spoken(token))),
      make("span", { class: "pg-bar", "aria-hidden": "true" }, make("span", { style: `width:${100 * Math.exp(log) || 0}%` })),
      make("span", {}, `${percent(Math.exp(log))}${note}`))));
  }

  /** The numbers of a map. */
  square({ part, at }) {
    const size = this.seen.n ** 2;
    return this.seen[part].subarray(at * size, (at + 1) * size);
  }

  /** What is said of a map in large. */
  told(map) {
    const { n } = this.seen;
    const { part, layer, head } = map;
    if (part === "similarity") return `Cosine of each two tokens ${where(layer)}: on average ${short(meanCosine(this.seen, layer))}.`;
    const share = (back) => percent(n > back ? mean(this.square(map).filter((_, i) => i % n === Math.floor(i / n) - back)) : 0);
    return `Layer ${layer}, head ${head}. A token takes ${share(0)} from itself and ${share(1)} from the one before, on average.`;
  }
}
