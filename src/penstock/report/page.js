// Lets readers step through the points of a plot, hide lines, and choose light or dark. All values are in the page.
"use strict";
(() => {
  const tip = document.getElementById("tip");

  const show = (point) => {
    tip.textContent = point.getAttribute("aria-label");
    tip.hidden = false;
    const mark = point.getBoundingClientRect(), own = tip.getBoundingClientRect(), edge = 8;
    const left = Math.min(Math.max(mark.left + mark.width / 2 - own.width / 2, edge), innerWidth - own.width - edge);
    const above = mark.top - own.height - edge;
    tip.style.left = `${Math.max(left, edge)}px`;
    tip.style.top = `${above >= edge ? above : Math.min(mark.bottom + edge, innerHeight - own.height - edge)}px`;
  };
  const hide = () => { tip.hidden = true; };

  const shown = (plot) => [...plot.querySelectorAll(".point")].filter((point) => !point.closest(".off"));

  // One point of each plot can be tabbed to; the arrow keys go on from there.
  const offer = (plot, point) => {
    for (const other of plot.querySelectorAll('.point[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    if (point) point.setAttribute("tabindex", "0");
  };

  const across = (points, from, step) => {
    const lines = [...new Set(points.map((point) => point.closest(".series")))];
    const next = lines[lines.indexOf(from.closest(".series")) + step];
    if (!next) return from;
    const x = from.getBoundingClientRect().x;
    const away = (point) => Math.abs(point.getBoundingClientRect().x - x);
    return points.filter((point) => point.closest(".series") === next).reduce((a, b) => (away(b) < away(a) ? b : a));
  };

  const target = (points, from, key) => {
    const at = points.indexOf(from), last = points.length - 1;
    const lies = from.closest(".series");
    switch (key) {
      case "Home": return points[0];
      case "End": return points[last];
      case "ArrowLeft": return points[Math.max(at - 1, 0)];
      case "ArrowRight": return points[Math.min(at + 1, last)];
      case "ArrowUp": return lies ? across(points, from, -1) : points[Math.max(at - 1, 0)];
      case "ArrowDown": return lies ? across(points, from, 1) : points[Math.min(at + 1, last)];
      default: return null;
    }
  };

  for (const plot of document.querySelectorAll("figure > .plot")) {
    offer(plot, shown(plot)[0]);
    plot.addEventListener("keydown", (event) => {
      const from = event.target.closest(".point");
      if (!from || event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === "Escape") return hide();
      const to = target(shown(plot), from, event.key);
      if (!to) return;
      event.preventDefault();
      offer(plot, to);
      to.focus();
    });
    plot.addEventListener("focusin", (event) => {
      const point = event.target.closest(".point");
      if (point) show(point);
    });
    plot.addEventListener("focusout", hide);
    plot.addEventListener("pointerover", (event) => {
      const point = event.target.closest(".point");
      if (point) show(point); else hide();
    });
    plot.addEventListener("pointerleave", hide);
  }
  // To focus a point may scroll the page: the tip goes along with it.
  addEventListener("scroll", () => {
    const point = document.activeElement && document.activeElement.closest(".point");
    if (point && !tip.hidden) show(point); else hide();
  }, { passive: true });

  for (const button of document.querySelectorAll("[data-shows]")) {
    button.addEventListener("click", () => {
      const is_shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(is_shown));
      const figure = button.closest("figure");
      for (const line of figure.querySelectorAll(`[data-series="${button.dataset.shows}"]`)) {
        line.classList.toggle("off", !is_shown);
      }
      for (const plot of figure.querySelectorAll(":scope > .plot")) offer(plot, shown(plot)[0]);
    });
  }

  const theme = document.getElementById("theme");
  const choices = [["", "Colours: as the system"], ["light", "Colours: light"], ["dark", "Colours: dark"]];
  let chosen = 0;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    chosen = (chosen + 1) % choices.length;
    document.documentElement.style.colorScheme = choices[chosen][0];
    theme.textContent = choices[chosen][1];
  });
})();
