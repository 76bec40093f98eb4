package fingerprint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// vectors reads a file of vectors as published by the project that it names.
func vectors(t *testing.T, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// loose reads JSON as sent, with what identities refuse.
func loose(t *testing.T, src string) *canon.Value {
	t.Helper()
	v, err := canon.ParseLoose([]byte(src))
	if err != nil {
		t.Fatalf("ParseLoose(%s) = %v", src, err)
	}
	return v
}

// digestOf returns the digest of a tool of that kind.
func digestOf(t *testing.T, kind string, tool *canon.Value) Digest {
	t.Helper()
	return pick(t, kind, OfTool(tool))
}

func pick(t *testing.T, kind string, list []Digest) Digest {
	t.Helper()
	i := slices.IndexFunc(list, func(d Digest) bool { return d.Kind == kind })
	if i < 0 {
		t.Fatalf("there is no digest of kind %s", kind)
	}
	return list[i]
}

func TestHeldfastVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			ID, Digest string
			Tool       json.RawMessage
		}
	}
	vectors(t, "heldfast-tool-digest.json", &file)
	if len(file.Vectors) != 14 {
		t.Fatalf("%d vectors, want 14", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		if got := digestOf(t, Heldfast, loose(t, string(v.Tool))); got.Published != v.Digest {
			t.Errorf("heldfast of %s = %+v, want %s", v.ID, got, v.Digest)
		}
	}
}

func TestHeldfastCanonicalVectors(t *testing.T) {
	var file struct {
		Canonical []struct{ Input, Expect string }
	}
	vectors(t, "heldfast-jcs.json", &file)
	if len(file.Canonical) != 31 {
		t.Fatalf("%d vectors, want 31", len(file.Canonical))
	}
	for _, v := range file.Canonical {
		if got, err := canon.AppendV2(nil, loose(t, v.Input)); err != nil || string(got) != v.Expect {
			t.Errorf("AppendV2(%s) = %s, %v, want %s", v.Input, got, err, v.Expect)
		}
	}
	// What the vector file's list of refusals would refuse, and the later document
	// does not.
	got, err := canon.AppendV2(nil, loose(t, "9007199254740993"))
	if err != nil || string(got) != "9007199254740992" {
		t.Errorf("AppendV2(9007199254740993) = %s, %v, want the nearest double", got, err)
	}
}

func TestDefinitionVectors(t *testing.T) {
	var file struct {
		Definitions []struct{ About, Input, Hash, Canonical string }
		Sets        []struct {
			About   string
			Pages   []string
			SetHash string
		}
		Instructions []struct{ Instructions, Hash *string }
		Invalid      []struct {
			Input  string
			Pages  []string
			Reason string
		}
	}
	vectors(t, "tool-definition-hash-v1.json", &file)
	if len(file.Definitions) != 8 || len(file.Sets) != 5 || len(file.Invalid) != 4 || len(file.Instructions) != 3 {
		t.Fatalf("%d definitions, %d sets, %d invalid, %d instructions, want 8, 5, 4, 3", len(file.Definitions), len(file.Sets), len(file.Invalid), len(file.Instructions))
	}
	elements := func(pages []string) (elems []*canon.Value) {
		for _, p := range pages {
			elems = append(elems, loose(t, p).Elems...)
		}
		return elems
	}
	for _, v := range file.Definitions {
		tool := loose(t, v.Input)
		if got := digestOf(t, Definition, tool); got.Published != v.Hash {
			t.Errorf("definition hash, %s = %+v, want %s", v.About, got, v.Hash)
		}
		if got, err := canon.AppendV2(nil, tool); err != nil || string(got) != v.Canonical {
			t.Errorf("canonical form, %s = %s, %v, want %s", v.About, got, err, v.Canonical)
		}
	}
	for _, v := range file.Sets {
		if got := pick(t, Definition, OfElements(elements(v.Pages), true)); got.Published != v.SetHash {
			t.Errorf("set hash, %s = %+v, want %s", v.About, got, v.SetHash)
		}
	}
	reasons := map[string]string{"repeated member name": RefusedRepeated, "no string name": RefusedNoName}
	for _, v := range file.Invalid {
		list := []*canon.Value{nil}
		if v.Input != "" {
			list[0] = loose(t, v.Input)
			if got := digestOf(t, Definition, list[0]); got != refused(Definition, reasons[v.Reason]) {
				t.Errorf("definition hash of %s = %+v, want it refused as %s", v.Input, got, reasons[v.Reason])
			}
		} else {
			list = elements(v.Pages)
		}
		if got := pick(t, Definition, OfElements(list, true)); got != refused(Definition, reasons[v.Reason]) {
			t.Errorf("set hash of %s%s = %+v, want it refused as %s", v.Input, v.Pages, got, reasons[v.Reason])
		}
	}
	for _, v := range file.Instructions {
		if v.Instructions != nil && canon.Sum([]byte(*v.Instructions)).Hex() != *v.Hash {
			t.Errorf("instructions hash of %q, want %s", *v.Instructions, *v.Hash)
		}
	}
}

func TestAgentAvowVectors(t *testing.T) {
	var file struct {
		Tools []struct {
			Digest string
			Tool   json.RawMessage
		}
		Keys []struct{ Name, Key string } `json:"key_encoding"`
	}
	vectors(t, "agentavow-tool-definition-v1.json", &file)
	if len(file.Tools) != 3 || len(file.Keys) != 13 {
		t.Fatalf("%d tools and %d keys, want 3 and 13", len(file.Tools), len(file.Keys))
	}
	for _, v := range file.Tools {
		if got := digestOf(t, AgentAvow, loose(t, string(v.Tool))); got.Published != v.Digest {
			t.Errorf("AgentAvow digest of %s = %+v, want %s", v.Tool, got, v.Digest)
		}
	}
	for _, v := range file.Keys {
		if got := AgentAvowKey(v.Name); got != v.Key {
			t.Errorf("AgentAvowKey(%q) = %s, want %s", v.Name, got, v.Key)
		}
	}
}

func TestMTLVectors(t *testing.T) {
	var file struct {
		Sets []struct {
			ID, DigestSRI string
			Tools         json.RawMessage
		} `json:"tool_sets"`
		Descriptors []struct {
			ID, SubjectSRI, SubjectURN string
			Descriptor                 json.RawMessage
		}
		Orders []struct{ Names, Sorted []string } `json:"ordering_cases"`
	}
	vectors(t, "mtl1-toolset-digest.json", &file)
	if len(file.Sets) != 2 || len(file.Descriptors) != 2 || len(file.Orders) != 2 {
		t.Fatalf("%d sets, %d descriptors, %d orders, want 2 each", len(file.Sets), len(file.Descriptors), len(file.Orders))
	}
	for _, v := range file.Sets {
		if got := pick(t, MTL, OfElements(loose(t, string(v.Tools)).Elems, true)); got.Published != v.DigestSRI {
			t.Errorf("MTL/1 of %s = %+v, want %s", v.ID, got, v.DigestSRI)
		}
	}
	for _, v := range file.Descriptors {
		got := of(MTL, loose(t, string(v.Descriptor)))
		if got.Published != v.SubjectSRI {
			t.Errorf("subject digest of %s = %s, want %s", v.ID, got.Published, v.SubjectSRI)
		}
		if digits, spelling := canon.ReadSHA256(v.SubjectURN); v.SubjectURN != "" && (digits != got.Value || spelling != "urn") {
			t.Errorf("ReadSHA256(%s) = %s, %s, want %s, urn", v.SubjectURN, digits, spelling, got.Value)
		}
	}
	for _, v := range file.Orders {
		if got := slices.SortedFunc(slices.Values(v.Names), canon.CompareUTF16); !slices.Equal(got, v.Sorted) {
			t.Errorf("%q sorted = %q, want %q", v.Names, got, v.Sorted)
		}
	}
}

func TestRugSnareVectors(t *testing.T) {
	var file struct {
		Vectors []json.RawMessage
	}
	vectors(t, "rugsnare-pin.json", &file)
	if len(file.Vectors) != 2 {
		t.Fatalf("%d vectors, want 2", len(file.Vectors))
	}
	for _, raw := range file.Vectors {
		v := loose(t, string(raw))
		for kind, member := range map[string]string{RugSnareHash: "hash", RugSnareSchema: "schemaHash", RugSnareProse: "proseHash"} {
			if got, want := digestOf(t, kind, v).Published, v.Get(member).Text; got != want {
				t.Errorf("%s of %s = %s, want %s", kind, v.Get("name").Text, got, want)
			}
		}
	}
}
