/* How the site's search sorts: guides first, above all one whose title begins with what is sought; changes and modules last. */
"use strict";
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  score: ([page, title, , , score]) => {
    const place = page.startsWith("guides/") ? 10 : /^(api|changelog|contributing)/.test(page) ? -10 : 0;
    const sought = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase().split(/\W+/);
    return score + place + (place > 0 && sought.includes(title.toLowerCase().split(/\W+/)[0]) ? 10 : 0);
  },
};
