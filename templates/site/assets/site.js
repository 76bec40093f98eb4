// What a page can do beyond what it says without a script: find a server by
// name, say how many days ago the newest data was read, and look up a digest. It
// asks nothing of anybody but files of this site: names.txt on the first use of
// the search field, and on /lookup/ one file of digests and the list of servers.
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

  const text = async (path) => {
    const r = await fetch(root + path);
    if (!r.ok) {
      throw new Error(String(r.status));
    }
    return r.text();
  };

  // Looking up a digest: the file that its first two digits name holds the next
  // fourteen of each, and numbers of lines of the list of servers.
  const lookup = document.querySelector("[data-lookup]");
  if (lookup && location.protocol !== "file:") {
    const field = lookup.querySelector("input");
    const said = lookup.querySelector("[role=status]");
    const table = lookup.querySelector(".scroll");
    const rows = table.querySelector("tbody");
    const kinds = new Map([...document.querySelectorAll("[data-kind]")].map((tr) => [tr.dataset.kind, tr.querySelector("th").textContent]));
    let turn = 0;
    // The digits of a SHA-256 in any spelling that records publish: hexadecimal
    // after any prefix that ends in a colon, or the base64 of sha256-….
    const digits = (sought) => {
      const s = sought.trim().replace(/^["'](.*)["']$/, "$1");
      const base64 = /^sha256-([A-Za-z0-9+/]{43}=)$/.exec(s);
      if (base64) {
        return [...atob(base64[1])].map((c) => c.charCodeAt(0).toString(16).padStart(2, "0")).join("");
      }
      return s.toLowerCase().replace(/^.*:/, "");
    };
    const cell = (name, ...content) => {
      const c = document.createElement(name);
      c.append(...content);
      return c;
    };
    const day = (compact) => {
      const t = document.createElement("time");
      t.dateTime = t.textContent = compact.replace(/^(\d{4})(\d\d)(\d\d)$/, "$1-$2-$3");
      return t;
    };
    const row = (line, servers) => {
      const [, kind, number, days] = line.split(" ");
      const [name, path] = (servers[Number(number) - 1] || "\t").split("\t");
      const [first, last] = days.split("-");
      const link = document.createElement("a");
      const bdi = cell("bdi", name);
      bdi.setAttribute("data-recorded", "");
      link.href = root + path + "index.html";
      link.append(bdi);
      const tr = document.createElement("tr");
      const th = cell("th", link);
      th.scope = "row";
      tr.append(th, cell("td", kinds.get(kind) || kind), cell("td", day(first)), cell("td", last ? day(last) : "still so on the newest day"));
      return tr;
    };
    const find = async () => {
      const mine = ++turn;
      const hex = digits(field.value);
      table.hidden = true;
      rows.replaceChildren();
      if (!/^[0-9a-f]{16,64}$/.test(hex)) {
        said.textContent = hex ? "This is no SHA-256, nor the first sixteen digits of one" : "";
        return;
      }
      said.textContent = "Looking it up";
      try {
        const lines = (await text(`lookup/${hex.slice(0, 2)}.txt`)).split("\n").filter((l) => l.startsWith(hex.slice(2, 16) + " "));
        const servers = lines.length ? (await text("lookup/servers.txt")).split("\n") : [];
        if (mine !== turn) {
          return; // another digest was asked for meanwhile
        }
        const most = 500;
        rows.replaceChildren(...lines.slice(0, most).map((l) => row(l, servers)));
        table.hidden = lines.length === 0;
        said.textContent = !lines.length ? "Not among the digests that can be looked up" : lines.length > most ? `${lines.length} found, the first ${most} are shown` : `${lines.length} found`;
      } catch {
        if (mine === turn) {
          said.textContent = "The file of digests could not be loaded";
        }
      }
    };
    lookup.hidden = false;
    lookup.querySelector("button").addEventListener("click", find);
    field.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && !e.isComposing) {
        e.preventDefault();
        find();
      }
    });
  }

  const box = document.querySelector(".find");
  if (!box || location.protocol === "file:") {
    return; // browsers read no file beside a page that is itself a file
  }
  const input = box.querySelector("input");
  const list = box.querySelector("[role=listbox]");
  const note = box.querySelector("[role=status]");
  const most = 12; // as many results as a phone shows
  let loading; // a promise of [{name, path, folded}], once asked for; of undefined where that failed
  let found = [];
  let active = -1;
  box.hidden = false;

  const load = () => {
    loading ??= text("names.txt")
      .then((all) =>
        all.split("\n").filter(Boolean).map((line) => {
          const [name, path] = line.split("\t");
          return { name, path, folded: name.toLowerCase() };
        }),
      )
      .catch(() => {
        loading = undefined; // the next use asks again
      });
    return loading;
  };

  // Names that begin with what is sought come first, then those in which a
  // segment does, then the others; each in alphabetical order.
  const search = (names, sought) => {
    const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
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
    const sought = input.value.trim();
    const names = await load();
    if (sought !== input.value.trim() || document.activeElement !== input) {
      return; // somebody typed on, or left the field, meanwhile
    }
    found = names ? search(names, sought) : [];
    show();
    note.classList.toggle("vh", Boolean(names)); // people who see the list need no words but these
    note.textContent = !sought ? "" : !names ? "The list of names could not be loaded" : found.length === 0 ? "No server found" : found.length < most ? `${found.length} found` : `The first ${most} are shown`;
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
})();
