package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
)

// timingFile returns the latencies of the run: a header, then one line for each
// row of current/ of the first methodology, in the order of its shards. A field
// is empty where the run did not probe.
func (b *book) timingFile(lines []*line) []byte {
	var out []byte
	for i, l := range lines {
		if i > 0 {
			out = append(out, ',')
		}
		v := l.methodology.Version
		out = fmt.Appendf(out, "%s_observed_at,%s_init_ms,%s_list_ms", v, v, v)
	}
	out = append(out, '\n')
	names := slices.Sorted(maps.Keys(lines[0].now))
	shard := make(map[string]string, len(names))
	for _, n := range names {
		shard[n] = archive.Shard(n)
	}
	slices.SortStableFunc(names, func(x, y string) int { return strings.Compare(shard[x], shard[y]) })
	for _, n := range names {
		for i, l := range lines {
			if i > 0 {
				out = append(out, ',')
			}
			r, ok := b.timing[l.methodology.Version][n]
			if !ok {
				out = append(out, ",,"...)
				continue
			}
			at, _ := r.Observed.MarshalJSON()
			out = append(out, strings.Trim(string(at), `"`)...)
			out = append(append(out, ','), millis(r.InitMS)...)
			out = append(append(out, ','), millis(r.ListMS)...)
		}
		out = append(out, '\n')
	}
	return out
}

func millis(ms int64) string {
	if ms < 0 {
		return ""
	}
	return strconv.FormatInt(ms, 10)
}

// message returns the commit message of a run (DESIGN.md section 5, "Git"). The
// subject and the coverage are those of the series of record, or of the oldest
// methodology that read; a line each says what the others got.
func message(s *Summary) string {
	versions := slices.Sorted(maps.Keys(s.Run.Methodologies))
	c := s.Run.Methodologies[versions[0]]
	var b strings.Builder
	coverage := "coverage " + percent(c.Coverage)
	if s.Run.Partial {
		coverage = "partial"
	}
	fmt.Fprintf(&b, "observe %s: %s answered, %s changed, %s\n\n", s.Run.Run, thousands(c.Answered), thousands(s.Drifted[versions[0]]), coverage)
	for i, v := range versions[1:] {
		fmt.Fprintf(&b, "%s: %s answered, %s changed\n", v, thousands(s.Run.Methodologies[v].Answered), thousands(s.Drifted[v]))
		if i == len(versions)-2 {
			b.WriteByte('\n')
		}
	}
	trailer := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, value) }
	trailer("Run", s.Run.Run)
	trailer("Prober-Version", s.Run.ProberVersion)
	trailer("Methodology", strings.Join(versions, ", "))
	trailer("Roster-Digest", string(s.Run.Roster))
	if !s.Run.Partial {
		trailer("Coverage", percent(c.Coverage))
	}
	trailer("Degraded", strconv.FormatBool(s.Run.Degraded))
	trailer("Partial", strconv.FormatBool(s.Run.Partial))
	return b.String()
}

// percent writes basis points with one decimal, rounded down, so that 100 % is
// said only of all (case f-015).
func percent(bp int) string { return fmt.Sprintf("%d.%d %%", bp/100, bp/10%10) }

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
