package launch

import "testing"

func TestIsShared(t *testing.T) {
	t.Setenv("HOME", "/data/users/reader")
	for dir, want := range map[string]bool{
		"/": true, "/tmp": true, "/data": true, "/data/users": true, "/data/users/reader": true,
		"/data/users/read": false, "/data/users/reader/server": false, "/data/tools": false,
	} {
		if got := isShared(dir); got != want {
			t.Errorf("isShared(%s) = %v, want %v", dir, got, want)
		}
	}
}
