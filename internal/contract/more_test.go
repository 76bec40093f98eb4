package contract

import "testing"

// More is what the last page says, whatever wraps the list.
func TestMore(t *testing.T) {
	tests := []struct {
		src  string
		want bool
	}{
		{`[]`, false},
		{`{"tools":[]}`, false},
		{`{"tools":[],"nextCursor":null}`, false},
		{`{"tools":[],"nextCursor":7}`, false},
		{`{"tools":[],"nextCursor":""}`, true},
		{`{"tools":[],"nextCursor":"2"}`, true},
		{`{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"2"}}`, true},
	}
	for _, tt := range tests {
		if got := mustRead(t, tt.src).More; got != tt.want {
			t.Errorf("More of %s = %v, want %v", tt.src, got, tt.want)
		}
	}
	one := []byte(`{"jsonrpc":"2.0","id":2,"result":{"tools":[],"nextCursor":"2"}}`)
	two := []byte(`{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}`)
	if c, err := Read([][]byte{one, two}); err != nil || c.More {
		t.Errorf("Read of both pages = %+v, %v, want no more", c, err)
	}
}
