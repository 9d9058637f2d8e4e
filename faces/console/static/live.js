// Follows what changes on the server. Parts of a page that are marked `data-live` are renewed where nobody works in
// them; those that are marked `data-live="ask"`, and pages without such parts, say how much has changed, and are renewed
// by a click. A page that draws listens for the event `renewed`, whose target is the new part.
"use strict";
(() => {
  const line = document.getElementById("live");
  if (!line || !window.EventSource) return;
  const said = line.querySelector("[role=status]");
  const link = line.querySelector("a");
  const QUIET = 2000; // milliseconds between two renewals
  const SOON = 5000; // until a connection that was refused is tried again; then twice as long each time
  const LATE = 60000;
  const HIDDEN = 10000; // until a page that nobody sees stops following
  const numbers = new Intl.NumberFormat(document.documentElement.lang);
  const plurals = new Intl.PluralRules(document.documentElement.lang);
  let source = null;
  let last = null; // the id of the last event
  let changes = 0; // that are not shown yet
  let isLost = false;
  let renewal = 0;
  let retry = 0;
  let wait = SOON;
  let hiding = 0;

  const show = (text, canShow) => {
    line.hidden = !text;
    link.hidden = !canShow;
    if (said.textContent !== text) said.textContent = text;
  };
  const showChanges = () => {
    const form = plurals.select(changes) === "one" ? line.dataset.one : line.dataset.other;
    show(changes ? form.replace("{n}", numbers.format(changes)) : "", true);
  };

  // Whether somebody works in a part: has the focus or a selection in it, has opened something, or has typed or chosen.
  const isInUse = (part) => {
    const selection = document.getSelection();
    if (part.contains(document.activeElement) || part.querySelector("details[open]")) return true;
    if (selection && !selection.isCollapsed && selection.containsNode(part, true)) return true;
    return [...part.querySelectorAll("input, textarea, option")].some((field) =>
      field instanceof HTMLOptionElement
        ? field.selected !== field.defaultSelected && field.parentElement.querySelector("[selected]") !== null
        : field.type === "checkbox" || field.type === "radio"
          ? field.checked !== field.defaultChecked
          : field.value !== field.defaultValue,
    );
  };

  // Renews the parts; `all` those, too, that wait for a click. Returns whether each is as it is on the server.
  const renew = async (all) => {
    const answer = await fetch(link.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (!answer.ok || answer.redirected) return false;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    let isWhole = document.querySelector("main [data-live]") !== null;
    for (const part of document.querySelectorAll("[data-live]")) {
      const next = fresh.getElementById(part.id);
      if (!next || part.isEqualNode(next)) continue;
      if ((part.dataset.live === "ask" && !all) || isInUse(part)) {
        isWhole = false;
        continue;
      }
      const shown = document.importNode(next, true);
      part.replaceWith(shown);
      shown.dispatchEvent(new CustomEvent("renewed", { bubbles: true }));
    }
    return isWhole;
  };

  const note = (count) => {
    changes += count;
    if (renewal) return;
    renewal = setTimeout(async () => {
      const seen = changes;
      try {
        if (await renew(false)) changes -= seen;
      } catch {
        // The connection tells.
      }
      renewal = 0;
      if (!isLost) showChanges();
    }, QUIET);
  };

  const connect = () => {
    clearTimeout(retry);
    const address = new URL(line.dataset.address, location.href);
    if (last !== null) address.searchParams.set("since", last);
    source = new EventSource(address);
    source.addEventListener("open", () => {
      wait = SOON;
      if (!isLost) return;
      isLost = false;
      show(line.dataset.back, false);
      setTimeout(() => isLost || showChanges(), QUIET);
    });
    for (const name of ["start", "change"]) {
      source.addEventListener(name, (event) => {
        last = event.lastEventId;
        if (name === "change") note(JSON.parse(event.data).changes);
      });
    }
    source.addEventListener("over", () => {
      source.close();
      show(line.dataset.over, true);
    });
    source.addEventListener("error", () => {
      isLost = true;
      show(line.dataset.lost, false);
      if (source.readyState === EventSource.CLOSED) {
        retry = setTimeout(connect, wait);
        wait = Math.min(2 * wait, LATE);
      }
    });
  };
  const disconnect = () => {
    clearTimeout(retry);
    if (source) source.close();
    source = null;
  };

  link.addEventListener("click", async (event) => {
    if (!document.querySelector("main [data-live]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const seen = changes;
    try {
      const isWhole = await renew(true);
      changes -= seen;
      if (isWhole) showChanges();
      else show(line.dataset.writing, true);
    } catch {
      location.assign(link.href);
    }
  });
  // A browser opens few connections to one address: a page that nobody sees holds none.
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(disconnect, HIDDEN);
    else if (!source) connect();
  });
  window.addEventListener("pagehide", disconnect);
  window.addEventListener("pageshow", (event) => event.persisted && !source && connect());
  connect();
})();
