package survival

import "math"

// incidence computes the cumulative incidences of both causes: the sum over
// times of S just before, free of both, times the share at risk that has the
// event there.
func incidence(s *sample, ms []member, o Options) *Incidence {
	rows := len(s.time)
	x := &Incidence{
		CIFChange: make([]float64, rows), CIFRetired: make([]float64, rows), EventFree: make([]float64, rows),
		NChange: s.event, NRetired: s.rival, NRisk: s.risk, Time: s.time,
	}
	free, change, retired := 1.0, 0.0, 0.0
	for i, n := range s.risk {
		d := s.event[i] + s.rival[i]
		if d > 0 {
			change += float64(free * float64(s.event[i]) / float64(n))
			retired += float64(free * float64(s.rival[i]) / float64(n))
			free *= float64(n-d) / float64(n)
		}
		x.CIFChange[i], x.CIFRetired[i], x.EventFree[i] = change, retired, free
	}
	if o.Cluster || o.Delayed {
		x.SeEventFree, x.SeCIFChange, x.SeCIFRetired = s.incidenceJackknife(ms, o)
		return x
	}
	x.SeEventFree = make([]float64, rows)
	sum := 0.0
	for i, n := range s.risk {
		d := s.event[i] + s.rival[i]
		if d > 0 && d < n {
			sum += float64(d) / (float64(n) * float64(n-d))
		}
		x.SeEventFree[i] = x.EventFree[i] * math.Sqrt(sum)
	}
	x.SeCIFChange = s.incidenceErrors(x, s.event, x.CIFChange)
	x.SeCIFRetired = s.incidenceErrors(x, s.rival, x.CIFRetired)
	return x
}

// incidenceErrors returns the standard errors of a cumulative incidence F of
// independent intervals. What those at risk at t_j will have come to by t is 1
// with the event, R = (F(t)-F(t_j))/S(t_j) without any, 0 with the other one;
// its variance there, with S(t_j-)^2/n_j before it, is added over all t_j <= t.
// As R depends on t, the sum is kept as a polynomial of what F still lacks at t
// of its last value. It equals the infinitesimal jackknife.
func (s *sample) incidenceErrors(x *Incidence, event []int, f []float64) []float64 {
	se := make([]float64, len(f))
	if len(f) == 0 {
		return se
	}
	end := f[len(f)-1]
	var a0, a1, a2 float64
	before := 1.0
	for i, size := range s.risk {
		n, lacks := float64(size), end-f[i]
		own, all := float64(event[i])/n, float64(s.event[i]+s.rival[i])/n
		if all > 0 && before > 0 {
			a0 += float64(before * before * own * (1 - own) / n)
		}
		if 0 < all && all < 1 && before > 0 {
			linear := 2 * own * before / n
			square := all / ((1 - all) * n)
			a0 += float64(square*lacks*lacks) - float64(linear*lacks)
			a1 += linear - float64(2*square*lacks)
			a2 += square
		}
		before = x.EventFree[i]
		se[i] = math.Sqrt(max(0, a0+float64(a1*lacks)+float64(a2*lacks*lacks)))
	}
	return se
}

// incidenceJackknife returns the standard errors by the infinitesimal jackknife
// with sums inside clusters; without clusters each interval is one.
func (s *sample) incidenceJackknife(ms []member, o Options) (free, change, retired []float64) {
	rows := len(s.time)
	var v [3][]float64
	for k := range v {
		v[k] = make([]float64, rows)
	}
	in, out := make([]float64, rows), make([]float64, rows)
	events := [3][]float64{make([]float64, rows), make([]float64, rows), make([]float64, rows)}
	add := func(group []member, times float64) {
		first := rows
		for _, m := range group {
			n := float64(m.n)
			if !o.Cluster {
				n = 1
			}
			in[m.enter] += n
			out[m.exit] += n
			events[m.cause][m.exit] += n
			first = min(first, int(m.enter))
		}
		s.influence(first, times, in, out, events, &v)
		for _, m := range group {
			in[m.enter], out[m.exit], events[m.cause][m.exit] = 0, 0, 0
		}
	}
	if o.Cluster {
		for group := range clusters(ms) {
			add(group, 1)
		}
	} else {
		for i := 0; i < len(ms); {
			alike, times := ms[i], 0.0
			for ; i < len(ms) && ms[i].enter == alike.enter && ms[i].exit == alike.exit && ms[i].cause == alike.cause; i++ {
				times += float64(ms[i].n)
			}
			add([]member{alike}, times)
		}
	}
	for k := range v {
		for i := range v[k] {
			v[k][i] = math.Sqrt(v[k][i])
		}
	}
	return v[0], v[1], v[2]
}

// influence adds, in each row from first on, the squares of what one cluster
// contributes to S free of both events and to both incidences: the derivatives
// by its weight, of so many clusters alike.
func (s *sample) influence(first int, times float64, in, out []float64, events [3][]float64, v *[3][]float64) {
	before := 1.0
	for i := range first {
		before *= float64(s.risk[i]-s.event[i]-s.rival[i]) / float64(s.risk[i])
	}
	var risk, free, change, retired float64
	for i := first; i < len(s.time); i++ {
		n := float64(s.risk[i])
		h1, h2 := float64(s.event[i])/n, float64(s.rival[i])/n
		risk += in[i]
		d1 := (events[1][i] - float64(risk*h1)) / n
		d2 := (events[2][i] - float64(risk*h2)) / n
		change += float64(free*h1) + float64(before*d1)
		retired += float64(free*h2) + float64(before*d2)
		stay := float64(s.risk[i]-s.event[i]-s.rival[i]) / n
		free = float64(free*stay) - float64(before*(d1+d2))
		before *= stay
		risk -= out[i]
		v[0][i] += float64(times * free * free)
		v[1][i] += float64(times * change * change)
		v[2][i] += float64(times * retired * retired)
	}
}
