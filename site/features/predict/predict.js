/**
 * Predictions: what a reader chose is kept in this browser and nowhere else, shown where it was chosen, and listed on
 * the book's last page beside what was measured.
 */

import { make } from "../../../src/plusx/explore/js/elements.js";

const KEY = "predictions"; // {name of a box: the words of the choice}
const right = "[data-right]";
let kept = stored() ?? {};

/** What other pages have kept; null without storage, as in a frame of another site. */
function stored() {
  try {
    return Object(JSON.parse(localStorage.getItem(KEY) ?? "{}"));
  } catch {
    return null;
  }
}

/** Also where nothing can be stored it lasts as long as the page. */
function keep(name, prediction) {
  kept = { ...(stored() ?? kept), [name]: prediction };
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {}
}

/** A choice without the reason that it gives after a colon. */
const answer = (words) => `“${words.split(": ")[0]}”`;

// ---- a question with choices ---------------------------------------------------------------------------

function choices(box) {
  const all = [...box.querySelectorAll("details")].map((details) => {
    const summary = details.querySelector("summary");
    const words = summary.textContent;
    const tag = make("span", { class: "px-tag" });
    summary.append(" ", tag);
    // Told now, before a browser's translator may have taken the word.
    const isRight = details.matches(right) || /^\s*Right/.test(details.lastElementChild.textContent);
    return { details, summary, words, tag, isRight };
  });
  const name = all[0].details.getAttribute("name");
  const measured = all.filter(({ details }) => details.matches(right)); // none in a self-check
  const guess = all.find(({ details }) => "guessed" in details.dataset); // a language model's, on one page
  const words = make("span", { role: "status", tabindex: -1 });
  const button = make("button", { type: "button" }, "What was measured?");
  const told = make("p", { class: "px-told", hidden: true }, words, " ", button);
  if (measured.length) box.append(told);
  let seen = false;

  function show() {
    const mine = all.find((each) => each.words === kept[name]);
    for (const each of all) {
      each.details.classList.toggle("px-mine", each === mine);
      const verdict = measured.length ? "" : each.isRight ? ", right" : ", not right";
      const guessed = seen && each === guess && "the language model's guess";
      const tags = [each === mine && `your choice${verdict}`, guessed, seen && each.isRight && "measured"];
      each.tag.textContent = tags.filter(Boolean).join(", ");
    }
    told.hidden = !mine;
    button.hidden = seen;
    if (!mine) return;
    const answers = measured.map((each) => answer(each.words)).join(" and ");
    const agreed = measured.length > 1 ? "Yours is one of them." : "As you predicted.";
    const compared = mine.isRight ? agreed : `You predicted ${answer(mine.words)}.`;
    const beside = guess ? ` The language model guessed ${answer(guess.words)}, ${guess.details.dataset.guessed} % sure.` : "";
    const isKept = stored()?.[name] === mine.words;
    const where = isKept ? "Your prediction is kept, in this browser only." : "Your prediction is here until you leave this page.";
    words.textContent = seen ? `Measured: ${answers}. ${compared}${beside}` : where;
    if (seen && guess) count(name, mine.isRight, guess.isRight);
  }

  box.addEventListener("click", ({ target }) => {
    const chosen = all.find(({ summary }) => summary.contains(target));
    if (!chosen) return;
    keep(name, chosen.words);
    show();
  });
  button.addEventListener("click", () => {
    seen = true;
    words.focus(); // which the button's going would lose
    show();
  });
  show();
}

// ---- the reader and a language model, on the page of its guesses ------------------------------------------

const answered = new Map(); // name of a box -> whether each of the two was right

function count(name, ...both) {
  answered.set(name, both);
  const [mine, its] = [0, 1].map((at) => [...answered.values()].filter((each) => each[at]).length);
  const place = document.querySelector(".px-tally");
  if (place) place.textContent = `Of ${answered.size}: you were right in ${mine}, the language model in ${its}.`;
}

// ---- the reader's own table ----------------------------------------------------------------------------

function table(place) {
  const [empty] = place.children;
  const rows = [...place.querySelectorAll("tbody tr")];
  const list = place.querySelector("table");
  const button = make("button", { type: "button", class: "px-forget" });
  const told = make("p", { role: "status", tabindex: -1 });
  list.after(button, told);

  function show() {
    for (const row of rows) {
      const words = [...row.cells[1].children];
      for (const each of words) each.hidden = each.textContent !== kept[row.dataset.box];
      row.hidden = words.every((each) => each.hidden); // no prediction was made
    }
    const count = rows.filter((row) => !row.hidden).length;
    empty.hidden = count > 0;
    list.hidden = button.hidden = count === 0;
    button.textContent = count === 1 ? "Forget your prediction" : `Forget all ${count} predictions`;
  }

  button.addEventListener("click", () => {
    if (!confirm(`${button.textContent}?`)) return;
    kept = {};
    try {
      localStorage.removeItem(KEY);
    } catch {}
    told.textContent = "All predictions are forgotten.";
    told.focus();
    show();
  });
  show();
}

document.querySelectorAll(".px-choices").forEach(choices);
document.querySelectorAll(".px-believed").forEach(table);
