package launch

import (
	"bytes"
	"os"
	"strconv"
)

// A task is one process of the tree below a server's.
type task struct {
	pid      int
	threads  int
	resident int64 // bytes; pages that processes share count for each
}

// descendants returns the processes below root, without it, as far as /proc
// shows them; ended ones that nobody has waited for are left out.
func descendants(root int) []task {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	tasks := map[int]task{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		t, parent, ended := readStat(pid, stat)
		children[parent] = append(children[parent], pid)
		if !ended {
			tasks[pid] = t
		}
	}
	var found []task
	for todo := children[root]; len(todo) > 0; todo = todo[1:] {
		if t, ok := tasks[todo[0]]; ok {
			found = append(found, t)
		}
		todo = append(todo, children[todo[0]]...)
	}
	return found
}

// readStat reads what /proc/PID/stat says (proc_pid_stat(5)). The name of the
// program, in parentheses, may hold anything.
func readStat(pid int, stat []byte) (t task, parent int, ended bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return task{}, -1, true
	}
	f := bytes.Fields(stat[i+1:]) // from field 3 on
	const state, ppid, threads, rss = 0, 1, 17, 21
	if len(f) <= rss {
		return task{}, -1, true
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(string(f[i]), 10, 64)
		return n
	}
	t = task{pid: pid, threads: int(number(threads)), resident: number(rss) * int64(os.Getpagesize())}
	return t, int(number(ppid)), f[state][0] == 'Z' || f[state][0] == 'X'
}
