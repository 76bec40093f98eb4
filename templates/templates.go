// Package templates embeds what the program writes that people wrote: the files
// that a data folder holds beside the series.
package templates

import (
	"embed"
	"io/fs"
)

//go:embed all:data
var files embed.FS

// Data returns the files of a data folder that do not change from day to day:
// the data dictionary, the schemas, the opt-out list. The project's own data/
// holds the same files; a test compares them.
func Data() fs.FS {
	sub, err := fs.Sub(files, "data")
	if err != nil {
		panic("templates: " + err.Error()) // the folder is embedded above
	}
	return sub
}
