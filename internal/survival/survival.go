// Package survival estimates how long contracts last, by the product-limit
// method; numbers in, numbers out.
//
// # The estimator
//
// S(t) is the product over event times t_j <= t of (n_j - d_j)/n_j, where n_j
// is how many intervals are at risk at t_j and d_j how many end there in the
// event (Kaplan and Meier, JASA 53, 1958). Events come before censorings of the
// same time: what was censored at t is at risk at t. What enters at t is not.
// The variance of log S is Greenwood's sum of d_j/(n_j (n_j - d_j)). Limits are
// pointwise, of 95 %, in three types: plain and log, clipped to [0, 1], and
// log-log, which needs no clipping and is the one to publish.
//
// Where S is 0 the variance and all limits are undefined; where S is 1 those of
// log-log are. Undefined is nil here and null in JSON.
//
// # The half-life
//
// The half-life is reached once S is below one half. It is then the first t with
// S(t) <= 1/2 and, where S is exactly 1/2 there, the midpoint of that t and the
// next time at which S drops. A curve that only touches 1/2 and stays there has
// none: any later day would do as well. Whether S is exactly 1/2 is decided with
// integers. The limits are the first times at which the lower and the upper
// band are at or below 1/2 (Brookmeyer and Crowley, Biometrics 38, 1982); they
// may be known where the half-life is not.
//
// # Clusters and servers
//
// Intervals of one cluster are not independent. Their variance is the
// infinitesimal jackknife with sums inside clusters (Williams, Lifetime Data
// Analysis 1, 1995), without a factor for few clusters; with one interval per
// cluster, and none delayed, it is Greenwood's. The server-weighted curve (Wang
// and Chang, JASA 94, 1999) gives each server the weight 1, shared among its
// completed intervals; a running one counts only where none was completed.
//
// # Same input, same bytes
//
// The order of the intervals does not change a digit, but for that of the
// intervals of one server without any event, of which the server-weighted curve
// takes the first. Products that a machine might fuse with a sum are rounded
// first.
package survival

// An Interval is one observed lifetime, or N alike. Times are in any one unit,
// days in this program.
type Interval struct {
	Entry   float64 // at risk in (Entry, Time]; not less than 0 and less than Time; see Options.Delayed
	Time    float64 // of the event or of the censoring, in [0, MaxTime]
	Cause   int32   // 0: censored; 1: the event; 2: the competing event, which censors all curves
	Cluster int32   // of intervals that are not independent; see Options.Cluster
	Server  int32   // for the server-weighted curve, in time order within a server; see Options.Cluster
	N       int32   // how many such intervals; 0 means 1
}

// Options say what counts and what is computed beside the table.
type Options struct {
	RMST    []float64 // times up to which the restricted mean is computed
	At      []float64 // times at which S is computed
	Delayed bool      // Entry counts; without it everything is at risk from the beginning, time 0 included
	Cluster bool      // Cluster and Server count: adds ClusterRobust and WangChang
	Causes  bool      // Cause 2 may occur: adds AalenJohansen
}

// ThinBelow is the number of intervals, and of servers, at risk at the half-life
// below which it is called thin.
const ThinBelow = 30

// z is the 97.5 % quantile of the normal distribution, of 95 % limits.
const z = 1.959963984540054

// An Estimate is the product-limit estimate of a set of intervals. Its tables
// share the columns that are equal.
type Estimate struct {
	AalenJohansen *Incidence `json:"aalen_johansen,omitempty"`
	ClusterRobust *Robust    `json:"cluster_robust,omitempty"`
	ConfLevel     float64    `json:"conf_level"` // 0.95
	ConfType      string     `json:"conf_type"`  // type of limits to publish: log-log
	Crossing      Crossing   `json:"crossing"`
	Flags         Flags      `json:"flags"`
	HalfLife      HalfLife   `json:"half_life"`
	N             int        `json:"n"`          // intervals
	NDistinct     int        `json:"n_distinct"` // rows of the table
	NEvents       int        `json:"n_events"`
	Quantiles     Quantiles  `json:"quantiles"`
	RMST          []Mean     `json:"rmst"`    // as Options.RMST
	SurvAt        []At       `json:"surv_at"` // as Options.At
	Table         Table      `json:"table"`
	WangChang     *Weighted  `json:"wang_chang,omitempty"`
}

// Flags warn of what the numbers alone don't tell.
type Flags struct {
	RiskSetEmptied *Emptied `json:"risk_set_emptied"` // delayed entry only; nil in good order
	Thin           bool     `json:"thin"`             // reached, with fewer than ThinBelow intervals or servers at risk
}

// Emptied says that all who were at risk had the event while others were still
// to enter: S is 0 from there on whatever follows. The half-life of such a curve
// is not to be published.
type Emptied struct {
	At float64 `json:"at"`
	N  int     `json:"n"` // at risk, all of which had the event
}

// The states of a half-life; never renamed.
const (
	Reached     = "reached"      // S is below 1/2 somewhere
	TouchesOnly = "touches_only" // S is exactly 1/2 up to the end
	NotReached  = "not_reached"
)

// A HalfLife is the time by which half of the intervals have ended.
type HalfLife struct {
	CI     CI       `json:"ci"`
	Status string   `json:"status"`
	Value  *float64 `json:"value"` // nil unless reached
}

// A CI is a pair of 95 % limits of each type.
type CI struct {
	Log    Limits `json:"log"`
	LogLog Limits `json:"log-log"`
	Plain  Limits `json:"plain"`
}

// Limits are a lower and an upper limit, each nil where undefined or not
// reached.
type Limits [2]*float64

// Quantiles are the times by which a quarter, half and three quarters have
// ended, with R's rule for a flat piece: its midpoint, also where it runs to the
// last time. [HalfLife] has the stricter rule.
type Quantiles struct {
	Q25 Quantile `json:"0.25"`
	Q50 Quantile `json:"0.5"`
	Q75 Quantile `json:"0.75"`
}

// A Quantile is a time with its limits; nil where not reached.
type Quantile struct {
	CI       CI       `json:"ci"`
	Estimate *float64 `json:"estimate"`
}

// Crossing holds the facts about S and one half.
type Crossing struct {
	AtOrBelowHalf          bool     `json:"at_or_below_half"`
	BelowHalf              bool     `json:"below_half"`
	EmptiedByEventAt       *float64 `json:"emptied_by_event_at"` // first time at which all at risk had the event
	ExactlyHalfSomewhere   bool     `json:"exactly_half_somewhere"`
	HalfFlatRunsToLastTime bool     `json:"half_flat_runs_to_last_time"`
	MinSurv                *float64 `json:"min_surv"` // nil without intervals
}

// A Table has a row for each distinct time of an event or a censoring,
// ascending, as columns. S and its limits hold from the time of the row on.
type Table struct {
	CI        Bands      `json:"ci"`
	NCensor   []int      `json:"n_censor"` // competing events included
	NEvent    []int      `json:"n_event"`
	NRisk     []int      `json:"n_risk"`
	SeLogSurv []*float64 `json:"se_log_surv"`
	SeSurv    []*float64 `json:"se_surv"`
	Surv      []float64  `json:"surv"`
	Time      []float64  `json:"time"`
}

// Bands are the pointwise limits of S of each type.
type Bands struct {
	Log    Band `json:"log"`
	LogLog Band `json:"log-log"`
	Plain  Band `json:"plain"`
}

// A Band is a column of lower and one of upper limits.
type Band struct {
	Lower []*float64 `json:"lower"`
	Upper []*float64 `json:"upper"`
}

// A Mean is the restricted mean: the area under S up to Tau, the last value of S
// carried on where Tau is beyond the last time.
type Mean struct {
	BeyondLast bool     `json:"beyond_last"` // after the last time: see [Estimate.Known]
	RMST       *float64 `json:"rmst"`        // nil without intervals
	Se         *float64 `json:"se"`
	Tau        float64  `json:"tau"`
}

// An At is S at one time.
type At struct {
	BeyondLast bool     `json:"beyond_last"` // after the last time: nothing is known unless S is 0
	CI         CI       `json:"ci"`
	NRisk      int      `json:"n_risk"` // at T
	SeSurv     *float64 `json:"se_surv"`
	Surv       *float64 `json:"surv"` // nil where not known
	T          float64  `json:"t"`
}

// Robust is the same curve with the variance that allows for clusters.
type Robust struct {
	HalfLife  HalfLife  `json:"half_life"`
	NClusters int       `json:"n_clusters"`
	Quantiles Quantiles `json:"quantiles"`
	RMST      []Mean    `json:"rmst"`
	SurvAt    []At      `json:"surv_at"`
	Table     Table     `json:"table"`
}

// Weighted is the server-weighted curve, with a row for each time of an event.
// Its variance allows for clusters.
type Weighted struct {
	HalfLife       HalfLife   `json:"half_life"`
	LowerLogLog    []*float64 `json:"lower_loglog"`
	NServers       int        `json:"n_servers"`
	SeSurv         []*float64 `json:"se_surv"`
	Surv           []float64  `json:"surv"`
	Time           []float64  `json:"time"`
	UpperLogLog    []*float64 `json:"upper_loglog"`
	WeightedEvents []float64  `json:"weighted_events"`
	WeightedRisk   []float64  `json:"weighted_risk"`
}

// Incidence holds the cumulative incidences of two competing events (Aalen and
// Johansen, 1978), with a row for each row of the table. The three probabilities
// sum to 1. In this program the event is a change, the other a retirement.
type Incidence struct {
	CIFChange    []float64 `json:"cif_change"`
	CIFRetired   []float64 `json:"cif_retired"`
	EventFree    []float64 `json:"event_free"`
	NChange      []int     `json:"n_change"`
	NRetired     []int     `json:"n_retired"`
	NRisk        []int     `json:"n_risk"`
	SeCIFChange  []float64 `json:"se_cif_change"`
	SeCIFRetired []float64 `json:"se_cif_retired"`
	SeEventFree  []float64 `json:"se_event_free"`
	Time         []float64 `json:"time"`
}
