// Runs axe-core, which is there already, and returns what it found.
((tags) => axe.run(document, { runOnly: { type: 'tag', values: tags }, preload: false, resultTypes: ['violations'] })
  .then((r) => {
    const list = (rules) => rules.flatMap((v) => v.nodes.map((n) => ({
      rule: v.id, help: v.help, where: n.target.flat().join(' '), why: (n.failureSummary || '').replace(/\s+/g, ' '), html: n.html.slice(0, 140),
    })));
    return { violations: list(r.violations), rules: r.passes.length + r.violations.length + r.incomplete.length + r.inapplicable.length };
  }))
