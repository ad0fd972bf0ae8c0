/** What a net has answered, in words and in pictures. */

import { rgb } from "../../../explore/js/colours.js";
import { make } from "../../../explore/js/elements.js";
import { Panel } from "../../js/panel.js";
import { paint, paintLarge } from "./canvas.js";
import { logProbabilities, meanCosine, percent, short, shown, spoken, sum } from "./readings.js";

export class Answer extends Panel {
  /**
   * What was last computed, which need not be of the present state: that may want nets that are not loaded. In two
   * tasks, so that a slow phone shows the answer before it paints the large picture.
   */
  async draw() {
    const { seen } = this;
    const [net, text, switches] = this.seenState;
    const { n } = seen;
    const [attention, similarity, ink] = this.colours();
    this.paintedIn = [attention, similarity, ink];
    const colours = [rgb(attention), rgb(similarity)];
    const tokens = [...text];
    const wanted = net.causal ? tokens.slice(1) : [...tokens].sort();
    const size = net.alphabet.length;
    const logs = (layer, place) => logProbabilities(seen.scores, (layer * n + place) * size, size);

    // The answer, and in words.
    const last = tokens.map((_, place) => logs(net.layers, place));
    const best = last.map((row) => row.indexOf(Math.max(...row)));
    const losses = wanted.map((token, place) => -last[place][net.alphabet.indexOf(token)]);
    const loss = losses.length ? short(sum(losses) / losses.length) : null;
    const cosine = meanCosine(seen, net.layers);
    const changes = this.changes(switches);
    const state = changes.length > 3 ? `${changes.length} switches changed` : changes.join(", ") || "as trained";
    const parts = [];
    if (net.causal) {
      if (loss) parts.push(`${loss} nats per character on this text (guessing ${Math.log(size).toFixed(2)})`);
      const top = best.at(-1);
      parts.push(`next: ${spoken(net.alphabet[top] ?? "–")}, ${percent(Math.exp(last.at(-1)[top]))}`);
    } else {
      const right = wanted.filter((token, place) => net.alphabet[best[place]] === token).length;
      parts.push(`answer ${best.map((token) => net.alphabet[token] ?? "–").join("")}: ${right} of ${n} places right`, `loss ${loss}`);
    }
    if (n > 1) parts.push(`mean cosine of the tokens at the end ${short(cosine)}`);
    const isPresent = !this.root.classList.contains("pg-stale");
    if (isPresent) this.result.textContent = `${state[0].toUpperCase()}${state.slice(1)}: ${parts.join("; ")}.`;
    this.drawBars(net, last, best, wanted);

    // Each layer.
    const row = (strip, layer) => {
      strip.maps.forEach((button, head) => {
        const at = ((layer - 1) * net.heads + head) * n * n;
        this.drawMap(button, seen.attention.subarray(at, at + n * n), n, colours[0]);
        button.setAttribute("aria-label", `Layer ${layer}, attention of head ${head + 1}`);
      });
      this.drawMap(strip.similarity, seen.similarity.subarray(layer * n * n, (layer + 1) * n * n), n, colours[1]);
      strip.similarity.setAttribute("aria-label", `Similarity of the tokens ${layer ? `after layer ${layer}` : "before layer 1"}`);
      const length = sum(Array.from(seen.norm.subarray(layer * n, (layer + 1) * n))) / n;
      strip.words.replaceChildren(make("span", {}, `cosine ${short(meanCosine(seen, layer))}`), make("span", {}, `length ${short(length)}`));
    };
    row(this.first, 0);
    for (const [layer, strip] of this.layers.entries()) row(strip, layer + 1);
    await new Promise((resolve) => setTimeout(resolve));
    if (seen !== this.seen) return; // drawn anew meanwhile
    this.drawLarge(net, tokens, colours, ink);
  }

  drawMap(button, values, n, colour) {
    paint(button.firstChild, values, n, colour);
    button.setAttribute("aria-pressed", button.dataset.map === this.large);
  }

  drawLarge(net, tokens, colours, ink) {
    const { seen } = this;
    const { n } = seen;
    const [what, layer, head] = this.large.split(" ");
    const attention = what === "attention";
    const at = (attention ? layer * net.heads + Number(head) : Number(layer)) * n * n;
    const values = seen[what].subarray(at, at + n * n);
    paintLarge(this.largeCanvas, values, tokens, colours[attention ? 0 : 1], ink);
    let words;
    if (attention) {
      const own = sum(tokens.map((_, i) => values[i * n + i])) / n;
      const before = n > 1 ? sum(tokens.slice(1).map((_, i) => values[(i + 1) * n + i])) / (n - 1) : 0;
      words = `Layer ${Number(layer) + 1}, head ${Number(head) + 1}. A token takes ${percent(own)} from itself and ${percent(before)} from the one before, on average.`;
    } else {
      words = `Cosine of each two tokens ${Number(layer) ? `after layer ${layer}` : "before layer 1"}: on average ${short(meanCosine(seen, Number(layer)))}.`;
    }
    this.largeCaption.textContent = words;
    this.largeCanvas.setAttribute("aria-label", words);
  }

  drawBars(net, last, best, wanted) {
    let bars;
    if (net.causal) {
      this.barsTitle.textContent = "The next character";
      const logs = last.at(-1);
      const order = logs.map((_, i) => i).sort((a, b) => logs[b] - logs[a]).slice(0, 6);
      bars = order.map((token) => [net.alphabet[token], Math.exp(logs[token]), ""]);
    } else {
      this.barsTitle.textContent = "The answer, and how sure the net is of the right digit";
      bars = wanted.map((token, place) => {
        const said = net.alphabet[best[place]] ?? "–";
        return [said, Math.exp(last[place][net.alphabet.indexOf(token)]), said === token ? "" : `, right: ${token}`];
      });
    }
    this.bars.replaceChildren(...bars.map(([token, p, note]) => make("li", {},
      make("span", { class: "pg-token" }, make("span", { "aria-hidden": "true" }, shown(token)), make("span", { class: "pn-hidden" }, spoken(token))),
      make("span", { class: "pg-bar", "aria-hidden": "true" }, make("span", { style: `width:${Number.isFinite(p) ? 100 * p : 0}%` })),
      make("span", {}, `${percent(p)}${note}`))));
  }
}
