package gitrepo

import (
	"io/fs"
	"syscall"
)

// statOf returns what an index remembers of the file that info describes.
func statOf(info fs.FileInfo) statData {
	s := statData{
		MtimeSec: uint32(info.ModTime().Unix()), MtimeNsec: uint32(info.ModTime().Nanosecond()),
		Size: uint32(info.Size()),
	}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.CtimeSec, s.CtimeNsec = uint32(sys.Ctim.Sec), uint32(sys.Ctim.Nsec)
		s.Dev, s.Ino, s.UID, s.GID = uint32(sys.Dev), uint32(sys.Ino), sys.Uid, sys.Gid
	}
	return s
}
