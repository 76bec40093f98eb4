package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/launch"
	"github.com/mcpstrata/mcpstrata/internal/mcp"
	"github.com/mcpstrata/mcpstrata/internal/probe"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/target"
)

// insideWord, as the only argument of probe, makes this program the one within
// the sandbox of a server ([launch.Inside]). It is no flag: nobody gives it.
const insideWord = "-inside-the-sandbox"

// A launchFlag holds the flags of probe that start a server.
type launchFlag struct{ source, network, env, name, data string }

func launchFlags(c *call) *launchFlag {
	l := &launchFlag{}
	c.flags.StringVar(&l.source, "launch", "", "`server` to start and read over stdio, npm:PKG@VERSION or cmd:PATH, its arguments after --; Linux only")
	c.flags.StringVar(&l.network, "network", launch.NetworkNone, "`network` of a server that is started: none or full")
	c.flags.StringVar(&l.env, "env", "", "comma-separated `names` of variables that such a server gets a placeholder for")
	c.flags.StringVar(&l.name, "name", "", "registry `name` of such a server: its row in the data folder names the variables")
	c.flags.StringVar(&l.data, "data", "data", "the data folder, for -name")
	return l
}

// probeLaunch starts one server, reads it once, ends it, and prints its row, with
// the digests beside it.
func probeLaunch(ctx context.Context, c *call, cfg daily.Config, l *launchFlag, args []string, protocol string) error {
	m, err := reader(cfg, protocol)
	if err != nil {
		return err
	}
	source, err := launch.ParseSource(l.source)
	if err != nil {
		return usageError{"-launch: " + err.Error()}
	}
	if l.network != launch.NetworkNone && l.network != launch.NetworkFull {
		return usageError{fmt.Sprintf("-network %q: it is none or full", l.network)}
	}
	env, err := l.variables(source)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	client := new(mcp.Client)
	got, err := launch.Read(ctx, launch.Config{
		Self: []string{self, c.verb, insideWord}, Source: l.source, Args: args, Env: env, Network: l.network, Client: client, Note: c.note,
	}, m)
	if err != nil {
		return err
	}
	if got.Ended != "" {
		c.note("ended: " + got.Ended)
	}
	if !got.Outcome.OK() && got.Stderr != "" {
		c.note("the server said: " + got.Said())
	}
	name := l.name
	if name == "" {
		name = l.source
	}
	r, err := (&probe.Prober{MCP: client}).Result(ctx, name, got.Reading, m)
	if err != nil {
		return err
	}
	return c.printResult(r, l.source)
}

// variables returns the names of the variables that the server gets.
func (l *launchFlag) variables(source launch.Source) ([]string, error) {
	var names []string
	if l.env != "" {
		names = strings.Split(l.env, ",")
	}
	names, err := launch.CheckNames(names)
	if err != nil {
		return nil, usageError{"-env: " + err.Error()}
	}
	if l.name == "" {
		return names, nil
	}
	rows, err := archive.Open(os.DirFS(l.data)).Rows()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.data, err)
	}
	more, err := declared(rows[l.name], l.name, source)
	if err != nil {
		return nil, &daily.HintError{Err: fmt.Errorf("%s in %s: %w", l.name, l.data, err), Next: "name the variables with -env"}
	}
	return append(names, more...), nil
}

// A registryRow is what is needed of a row of the registry.
type registryRow struct {
	Server struct {
		Version  string
		Packages []struct {
			RegistryType         string
			Identifier           string
			EnvironmentVariables []struct{ Name string }
		}
	}
}

// declared returns the names of the variables that the newest version of name
// declares for the package that is started; for a program, for its first package.
// Names that no placeholder can stand for are left out.
func declared(rows []string, name string, source launch.Source) ([]string, error) {
	var listing []record.ListingRow
	for _, r := range rows {
		listing = append(listing, record.ListingRow{Bytes: r, Name: name})
	}
	chosen := target.Choose(listing, target.OptOut{})
	if len(chosen) == 0 {
		return nil, errors.New("the registry has no such name")
	}
	for _, r := range rows {
		var row registryRow
		if json.Unmarshal([]byte(r), &row) != nil || row.Server.Version != chosen[0].Version {
			continue
		}
		for _, p := range row.Server.Packages {
			if source.Package != "" && (p.RegistryType != "npm" || p.Identifier != source.Package) {
				continue
			}
			var names []string
			for _, v := range p.EnvironmentVariables {
				if _, err := launch.CheckNames([]string{v.Name}); err == nil && !slices.Contains(names, v.Name) {
					names = append(names, v.Name)
				}
			}
			return names, nil
		}
	}
	return nil, errors.New("its newest version declares no such package")
}
