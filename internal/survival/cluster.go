package survival

import (
	"cmp"
	"iter"
	"slices"
)

// A member is one interval of a cluster, as rows.
type member struct {
	cluster     int32
	enter, exit int32 // first and last row at risk
	cause       int32
	n           int32 // alike
	share       int64 // it counts 1/share in the server-weighted curve; 0: not at all
}

// members returns the intervals as rows, sorted so that no sum over them depends
// on their order.
func (s *sample) members(intervals []Interval, o Options) []member {
	ms := make([]member, len(intervals))
	for i := range intervals {
		iv := &intervals[i]
		m := &ms[i]
		*m = member{exit: int32(s.row(iv.Time)), cause: iv.Cause, n: int32(iv.count())}
		if o.Delayed {
			m.enter = int32(s.entryRow(iv.Entry))
		}
		if o.Cluster {
			m.cluster = iv.Cluster
		}
	}
	if o.Cluster {
		s.servers = share(intervals, ms)
	}
	slices.SortFunc(ms, compareMembers)
	return ms
}

// MaxCells bounds the sums over clusters, in clusters times distinct times: some
// minutes of work. 20,000 operators over ten years have a fiftieth of it.
const MaxCells = 4_000_000_000

func compareMembers(a, b member) int {
	if c := cmp.Compare(a.cluster, b.cluster); c != 0 {
		return c
	}
	if c := cmp.Compare(a.exit, b.exit); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.enter, b.enter), cmp.Compare(a.cause, b.cause), cmp.Compare(a.share, b.share), cmp.Compare(a.n, b.n))
}

// share gives each server's weight of 1 to its completed intervals or, without
// any, to its first; and counts the servers.
func share(intervals []Interval, ms []member) int {
	completed := map[int32]int64{}
	for i := range intervals {
		if iv := &intervals[i]; iv.Cause == 1 {
			completed[iv.Server] += int64(iv.count())
		}
	}
	running := map[int32]bool{}
	for i := range intervals {
		server := intervals[i].Server
		switch c := completed[server]; {
		case c > 0 && intervals[i].Cause == 1:
			ms[i].share = c
		case c == 0 && !running[server]:
			running[server] = true
			ms[i].share = 1
		}
	}
	return len(completed) + len(running)
}

// clusters yields the members of each cluster.
func clusters(ms []member) iter.Seq[[]member] {
	return func(yield func([]member) bool) {
		for len(ms) > 0 {
			n := 1
			for n < len(ms) && ms[n].cluster == ms[0].cluster {
				n++
			}
			if !yield(ms[:n]) {
				return
			}
			ms = ms[n:]
		}
	}
}

// weights is how the members count in one curve.
type weights struct {
	of   func(m *member) float64 // weight of a member with all alike
	risk []float64               // in each row: weight at risk,
	dead []float64               // of those with an event,
	left []float64               // and of those without
}

// robust is the pooled curve with the variance that allows for clusters.
func robust(s *sample, c *curve, ms []member, o Options) *Robust {
	w := &weights{of: func(m *member) float64 { return float64(m.n) }}
	for i, n := range s.risk {
		d := s.event[i]
		w.risk, w.dead, w.left = append(w.risk, float64(n)), append(w.dead, float64(d)), append(w.left, float64(n-d))
	}
	var areas [][]float64
	for _, tau := range o.RMST {
		from, _ := c.areas(tau)
		areas = append(areas, from)
	}
	v, means := jackknife(ms, w, areas)
	b := c.bands(v)
	r := &Robust{
		HalfLife:  c.halfLife(b),
		Quantiles: c.quantiles(b),
		RMST:      c.means(s, o.RMST, means),
		SurvAt:    c.at(s, o.At, b),
		Table:     table(s, c.surv, b),
	}
	for range clusters(ms) {
		r.NClusters++
	}
	return r
}

// jackknife returns the variance of log S in each row, and of the restricted
// mean for each of areas, by the infinitesimal jackknife with sums inside
// clusters. Members are sorted by cluster.
func jackknife(ms []member, w *weights, areas [][]float64) (v, means []float64) {
	rows := len(w.risk)
	v, means = make([]float64, rows), make([]float64, len(areas))
	settled := make([]float64, rows+1) // squares of clusters that are at risk no more, from this row on
	in, out, event := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	mean := make([]float64, len(areas))
	hazard := make([]float64, rows)
	for i := range hazard {
		hazard[i] = w.dead[i] / w.risk[i]
	}
	for group := range clusters(ms) {
		first, last := rows, 0
		for i := range group {
			m := &group[i]
			n := w.of(m)
			in[m.enter] += n
			out[m.exit] += n
			if m.cause == 1 {
				event[m.exit] += n
			}
			first, last = min(first, int(m.enter)), max(last, int(m.exit))
		}
		clear(mean)
		risk, u := 0.0, 0.0
		for i := first; i <= last; i++ {
			risk += in[i]
			if w.dead[i] > 0 && w.left[i] > 0 {
				step := (event[i] - float64(risk*hazard[i])) / w.left[i]
				u += step
				for k := range areas {
					mean[k] += float64(areas[k][i] * step)
				}
			}
			v[i] += float64(u * u)
			risk -= out[i]
			in[i], out[i], event[i] = 0, 0, 0
		}
		settled[last+1] += float64(u * u)
		for k := range mean {
			means[k] += float64(mean[k] * mean[k])
		}
	}
	sum := 0.0
	for i := range v {
		sum += settled[i]
		v[i] += sum
	}
	return v, means
}
