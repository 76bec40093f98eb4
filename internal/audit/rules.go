package audit

// A Rule is one thing that a sound tree keeps.
type Rule struct {
	ID      string // in faults; never renamed
	Purpose string // completes "verify …"
}

// Rules lists every rule, in the order in which the checker comes to them.
var Rules = []Rule{
	{"unexpected-file", "Checks that every file below data/ is one that the archive writes for its records, and a regular file."},
	{"missing-file", "Checks that every file that a record speaks of is there."},
	{"canonical-form", "Checks that each record reads, and writes again to the same bytes."},
	{"opt-out", "Checks that the opt-out list can be read, so that no request in it is overlooked."},
	{"tombstone", "Checks that the list of removed bodies can be read, is dated, and gives reasons, and that no body in it, nor a contract made from one, still lies in the tree."},
	{"run-record", "Checks that a run record is about the run that it is named after, lists exactly the dated files of its run, and that its members are possible."},
	{"run-chain", "Checks that each run record has the digest that the next one states."},
	{"dated-digest", "Checks that each dated file has the digest that its run record states."},
	{"index", "Checks that each line of an artifact index is well formed, about a path where bodies lie, and that lines are sorted by path."},
	{"index-object", "Checks that git holds the object that an index line states."},
	{"roster", "Checks that a dated roster follows from the one before: names added, removed, changed, counts, and its pages' digest in the run record."},
	{"roster-rows", "Checks that the registry rows are those that the rosters state, sorted by name, in the right shard."},
	{"roster-order", "Checks that the listing order names the targets of the newest roster."},
	{"page", "Checks that each page of the newest roster can be rebuilt from rows, order and envelope, to the digest stated."},
	{"dated-header", "Checks that the header of a dated file counts its rows, the unchanged and the attempted, and states the digest of the fold."},
	{"row", "Checks that a row can be: closed sets, sorted lists, and days in their order."},
	{"row-order", "Checks that rows are sorted by name, each name once."},
	{"row-change", "Checks that a dated row follows from the row before: only a success moves the head, only a change of class moves since, and confirmation follows the readings of its methodology."},
	{"event-order", "Checks that events are sorted by name, kind and methodology, each once."},
	{"event", "Checks that events are those, and only those, that the rows and the roster show, and say what these show; the classes and changes of a drift are taken as written."},
	{"dangling-digest", "Checks that every body that a row or an event speaks of is in an index."},
	{"run-counts", "Checks that a run record counts what its rows show: classes, details, coverage, partial, degraded."},
	{"fold", "Checks that current/ is the fold of the dated files."},
	{"body", "Checks that the bodies of a head have the digests, the length, the tools and the identities that its row states, and those of a rejected reading the ones that its event states."},
	{"contract-file", "Checks that a contract file is what the bodies of its head say."},
	{"handshake", "Checks that the handshake body beside a head is the one in the index."},
	{"timing", "Checks that timing.csv has a line of the right form for each row."},
	{"committed", "Checks that the data folder is as the newest commit has it."},
}
