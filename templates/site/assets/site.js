// What a page can do beyond what it says without a script: find a server by
// name, and say how many days ago the newest data was read. It asks nothing of
// anybody but names.txt of this site, on the first use of the search field.
(() => {
  "use strict";

  const root = document.documentElement.dataset.root || "./";

  // How long ago the data were read: a page is older than it says when the runs
  // have stopped.
  const asOf = document.querySelector("[data-asof]");
  const ago = document.querySelector('[data-script="ago"]');
  if (asOf && ago && !("simulated" in asOf.dataset)) {
    const time = asOf.querySelector("time");
    const days = Math.floor((Date.now() - Date.parse(time ? time.dateTime : "")) / 864e5);
    if (days >= 0) {
      ago.textContent = days === 0 ? ", today" : days === 1 ? ", yesterday" : `, ${days} days ago`;
    }
  }

  const box = document.querySelector(".find");
  if (!box || location.protocol === "file:") {
    return; // browsers read no file beside a page that is itself a file
  }
  const input = box.querySelector("input");
  const list = box.querySelector("[role=listbox]");
  const note = box.querySelector("[role=status]");
  const most = 12; // as many results as a phone shows
  let loading; // a promise of [{name, path, folded}], once asked for
  let found = [];
  let active = -1;
  box.hidden = false;

  const load = () => {
    loading ??= fetch(root + "names.txt")
      .then((r) => (r.ok ? r.text() : Promise.reject(r.status)))
      .then((text) =>
        text.split("\n").filter(Boolean).map((line) => {
          const [name, path] = line.split("\t");
          return { name, path, folded: name.toLowerCase() };
        }),
      )
      .catch(() => {
        loading = undefined;
        return [];
      });
    return loading;
  };

  // Names that begin with what is sought come first, then those in which a
  // segment does, then the others; each in alphabetical order.
  const search = (names, text) => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const ranks = [[], [], []];
    if (!words.length) {
      return [];
    }
    for (const n of names) {
      if (words.every((w) => n.folded.includes(w))) {
        const at = n.folded.indexOf(words[0]);
        const rank = at === 0 ? 0 : /[^a-z0-9]/.test(n.folded[at - 1]) ? 1 : 2;
        if (ranks[rank].length < most) {
          ranks[rank].push(n);
        }
      }
    }
    return ranks.flat().slice(0, most);
  };

  const open = (n) => {
    location.href = root + n.path;
  };

  const mark = (i) => {
    active = i;
    [...list.children].forEach((li, j) => li.setAttribute("aria-selected", String(i === j)));
    if (i < 0) {
      input.removeAttribute("aria-activedescendant");
    } else {
      input.setAttribute("aria-activedescendant", list.children[i].id);
      list.children[i].scrollIntoView({ block: "nearest" });
    }
  };

  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    mark(-1);
  };

  const show = () => {
    list.replaceChildren(
      ...found.map((n, i) => {
        const li = document.createElement("li");
        const name = document.createElement("bdi");
        li.id = `found-${i}`;
        li.setAttribute("role", "option");
        name.setAttribute("data-recorded", "");
        name.textContent = n.name;
        li.append(name);
        li.addEventListener("mousedown", (e) => e.preventDefault()); // the field keeps the focus
        li.addEventListener("click", () => open(n));
        return li;
      }),
    );
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
    mark(-1);
  };

  const update = async () => {
    const text = input.value.trim();
    const names = await load();
    if (text !== input.value.trim()) {
      return; // somebody typed on meanwhile
    }
    found = search(names, text);
    show();
    note.textContent = !text ? "" : found.length === 0 ? "No server found" : found.length < most ? `${found.length} found` : `The first ${most} are shown`;
  };

  input.addEventListener("focus", load);
  input.addEventListener("input", update);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", async (e) => {
    if (e.isComposing) {
      return;
    }
    switch (e.key) {
      case "ArrowDown":
      case "ArrowUp": {
        e.preventDefault();
        if (list.hidden) {
          await update();
        }
        const n = found.length;
        if (n) {
          const step = e.key === "ArrowDown" ? 1 : -1;
          mark(active < 0 ? (step > 0 ? 0 : n - 1) : (active + step + n) % n);
        }
        break;
      }
      case "Enter": {
        e.preventDefault();
        const chosen = active;
        await update();
        const n = found[chosen] || found.find((x) => x.name === input.value.trim()) || found[0];
        if (n) {
          open(n);
        }
        break;
      }
      case "Escape":
        if (list.hidden) {
          input.value = "";
          input.blur();
        } else {
          e.preventDefault();
          close();
        }
        break;
    }
  });

  document.addEventListener("keydown", (e) => {
    const on = e.target;
    if (e.key === "/" && !e.ctrlKey && !e.metaKey && !e.altKey && !/^(?:INPUT|TEXTAREA|SELECT)$/.test(on.tagName) && !on.isContentEditable) {
      e.preventDefault();
      input.focus();
    }
  });
})();
