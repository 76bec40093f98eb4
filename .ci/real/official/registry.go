package official

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcpstrata/mcpstrata/ci/real/child"
)

// Module is the package of the registry's server; go.mod has its version.
const Module = "github.com/modelcontextprotocol/registry/cmd/registry"

// Build builds the registry's server below dir.
func Build(ctx context.Context, g *child.Group, dir string) (program string, err error) {
	program = filepath.Join(dir, "registry")
	return program, finish(ctx, g, child.Spec{Name: "build", Args: []string{"go", "build", "-o", program, Module}})
}

// Start starts the registry's server over an empty database and has it import
// the versions in order, by its own publishing code, which refuses none of
// them. It returns host:port.
func Start(ctx context.Context, g *child.Group, program, database, dir string, versions []Version) (addr string, err error) {
	seed := filepath.Join(dir, "seed.json")
	b, err := json.Marshal(versions)
	if err != nil {
		return "", fmt.Errorf("writing the seed: %w", err)
	}
	if err := os.WriteFile(seed, b, 0o644); err != nil {
		return "", fmt.Errorf("writing the seed: %w", err)
	}
	port, err := child.FreePort()
	if err != nil {
		return "", err
	}
	addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	p, err := g.Start(child.Spec{Name: "registry", Args: []string{program}, Dir: dir, Env: []string{
		"MCP_REGISTRY_SERVER_ADDRESS=" + addr,
		"MCP_REGISTRY_DATABASE_URL=" + database,
		"MCP_REGISTRY_SEED_FROM=" + seed,
		"MCP_REGISTRY_ENABLE_REGISTRY_VALIDATION=false", // asks the package registries whether the packages exist
		"MCP_REGISTRY_JWT_PRIVATE_KEY=" + strings.Repeat("42", 32),
	}})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.WaitPort(ctx, addr); err != nil {
		return "", err
	}
	log, err := os.ReadFile(p.Log)
	if err != nil {
		return "", fmt.Errorf("reading the registry's log: %w", err)
	}
	want := fmt.Sprintf("all %d servers created", len(versions))
	if !strings.Contains(string(log), want) {
		return "", fmt.Errorf("importing the seed: the registry did not say %q; its last lines:\n%s", want, p.Tail(15))
	}
	return addr, nil
}
