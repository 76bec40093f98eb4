//go:build !linux

package gitrepo

import "io/fs"

// statOf returns what an index remembers of the file that info describes. The
// fields that are zero here differ from what git expects, which makes git read
// the file once and then fill them in.
func statOf(info fs.FileInfo) statData {
	return statData{
		MtimeSec: uint32(info.ModTime().Unix()), MtimeNsec: uint32(info.ModTime().Nanosecond()),
		Size: uint32(info.Size()),
	}
}
