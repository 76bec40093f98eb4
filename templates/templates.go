// Package templates embeds what the program writes that people wrote: the files
// that a data folder holds beside the series, the templates and assets of the
// site, and its hand-written pages.
package templates

import (
	"embed"
	"io/fs"
)

//go:embed all:data site pages
var files embed.FS

// Data returns the files of a data folder that do not change from day to day:
// the data dictionary, the schemas, the opt-out list. The project's own data/
// holds the same files; a test compares them.
func Data() fs.FS { return sub("data") }

// Site returns the templates of the site's pages, *.html, and below assets/ what
// is served beside them.
func Site() fs.FS { return sub("site") }

// Pages returns the hand-written pages of the site, in Markdown; the path of a
// file is that of its page.
func Pages() fs.FS { return sub("pages") }

func sub(dir string) fs.FS {
	s, err := fs.Sub(files, dir)
	if err != nil {
		panic("templates: " + err.Error()) // the folders are embedded above
	}
	return s
}
