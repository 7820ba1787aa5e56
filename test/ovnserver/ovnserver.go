// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package ovnserver runs OVN's own servers for tests: ovsdb-server with the Northbound and the Southbound database, and ovn-northd.
// They listen on unix sockets in a directory of the test. Tests that use them are skipped where OVN is not installed.
package ovnserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// RootVariable names the directory that Debian's packages were unpacked to, instead of being installed.
const RootVariable = "OVN_ROOT"

// Options select what runs.
type Options struct {
	// Northd runs ovn-northd and the Southbound database as well.
	Northd bool
	// Members is the number of servers that the Northbound database is replicated to; 0: it is on one, without replication.
	Members int
	// NorthboundSchema is the file with the schema of the Northbound database, if it is not OVN's.
	NorthboundSchema string
	// Directory is where the files of the servers are, which must not exist; empty: one that is deleted when the servers stop.
	Directory string
}

// Server is a running OVN.
type Server struct {
	Installation
	// northbound and southbound are the servers of databases that are not replicated, nil while one does not run, like northd.
	northbound, southbound, northd *exec.Cmd
	// members are the servers of a replicated Northbound database, nil while one does not run.
	members []*exec.Cmd
}

// Start runs the servers until the test ends. It skips the test if they are not installed.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{Installation: NewInstallation("")}
	if _, err := os.Stat(s.Program("ovsdb-server")); err != nil {
		t.Skip("ovsdb-server is not installed (Debian: openvswitch-switch, ovn-central); make test-ovn unpacks it")
	}
	if _, err := os.Stat(s.Schema("nb")); err != nil {
		t.Skip("the schema of OVN is not installed (Debian: ovn-central); make test-ovn unpacks it")
	}
	s.makeDirectory(t, o.Directory)
	if o.Members > 0 {
		s.startMembers(t, o.Members)
	} else {
		s.create(t, "nb", o.NorthboundSchema)
		s.Restart(t)
	}
	s.Nbctl(t, "init")
	if o.Northd {
		s.create(t, "sb", "")
		s.RestartSouthbound(t)
		s.RestartNorthd(t)
		s.Nbctl(t, "--wait=sb", "sync") // an ovn-controller that is earlier than the first rows crashes
	}
	return s
}

// makeDirectory makes the directory for the files of the servers.
func (s *Server) makeDirectory(t testing.TB, directory string) {
	t.Helper()
	if directory != "" {
		if err := os.Mkdir(directory, 0o700); err != nil {
			t.Fatal(err)
		}
		s.directory = directory
		return
	}
	directory, err := os.MkdirTemp("", "ovn") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	s.directory = directory
	t.Cleanup(func() {
		if t.Failed() {
			s.logs(t)
		}
		_ = os.RemoveAll(directory)
	})
}

// create makes a database that is not replicated, with a schema, or with OVN's.
func (s *Server) create(t testing.TB, name, schema string) {
	t.Helper()
	if schema == "" {
		schema = s.Schema(name)
	}
	s.run(t, "ovsdb-tool", "create", s.path(name+".db"), schema)
}

// RestartNorthd starts ovn-northd, again if it runs.
func (s *Server) RestartNorthd(t testing.TB) {
	t.Helper()
	s.KillNorthd()
	s.northd = s.start(t, "ovn-northd", "--ovnnb-db="+s.remote("nb"), "--ovnsb-db="+s.remote("sb"), "--unixctl="+s.path("northd.ctl"), "--log-file="+s.path("northd.log"))
}

// KillNorthd kills ovn-northd if it runs.
func (s *Server) KillNorthd() { s.kill(&s.northd, "northd") }

// Restart starts the server of the Northbound database, again if it runs.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.kill(&s.northbound, "nb")
	s.northbound = s.serve(t, "nb")
}

// RestartSouthbound starts the server of the Southbound database, again if it runs.
func (s *Server) RestartSouthbound(t testing.TB) {
	t.Helper()
	s.KillSouthbound()
	s.southbound = s.serve(t, "sb")
}

// KillSouthbound kills the server of the Southbound database if it runs.
func (s *Server) KillSouthbound() { s.kill(&s.southbound, "sb") }

// serve starts the server of a database, and waits until it accepts connections.
func (s *Server) serve(t testing.TB, name string) *exec.Cmd {
	t.Helper()
	process := s.start(t, "ovsdb-server", s.path(name+".db"), "--remote=punix:"+s.path(name+".sock"), "--unixctl="+s.path(name+".ctl"), "--log-file="+s.path(name+".log"))
	waitFor(t, s.path(name+".sock"))
	return process
}

// kill kills a server if it runs, and removes its sockets, which it would have done if it had exited.
func (s *Server) kill(process **exec.Cmd, name string) {
	if *process == nil {
		return
	}
	_ = (*process).Process.Kill()
	_ = (*process).Wait()
	*process = nil
	for _, suffix := range []string{".sock", ".raft", ".ctl"} {
		_ = os.Remove(s.path(name + suffix))
	}
}

// logs shows the end of each log.
func (s *Server) logs(t testing.TB) {
	t.Helper()
	const most = 1500
	files, _ := filepath.Glob(s.path("*.log"))
	more, _ := filepath.Glob(s.path("*/*.log"))
	for _, file := range append(files, more...) {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		t.Logf("%s:\n%s", file, content[max(0, len(content)-most):])
	}
}

// Endpoint is that of the Northbound database, which is not replicated.
func (s *Server) Endpoint() string { return s.remote("nb") }

// Endpoints returns those of the Northbound database.
func (s *Server) Endpoints() []string { return strings.Split(s.remote("nb"), ",") }

// PIDs returns the process ids of the servers that run, except for those of a replicated database.
func (s *Server) PIDs() map[string]int {
	pids := map[string]int{}
	for name, process := range map[string]*exec.Cmd{"northbound ovsdb-server": s.northbound, "southbound ovsdb-server": s.southbound, "ovn-northd": s.northd} {
		if process != nil {
			pids[name] = process.Process.Pid
		}
	}
	return pids
}

// Memory returns the resident memory of the servers in MiB.
func (s *Server) Memory(t testing.TB) map[string]float64 {
	t.Helper()
	return map[string]float64{"ovsdb-server": resident(t, s.northbound), "ovn-northd": resident(t, s.northd)}
}

// resident returns the resident memory of a process in MiB.
func resident(t testing.TB, process *exec.Cmd) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		var kibibytes float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kibibytes); err == nil {
			return kibibytes / 1024
		}
	}
	t.Fatalf("no VmRSS in %s", status)
	return 0
}

// SouthboundEndpoints returns those of the Southbound database.
func (s *Server) SouthboundEndpoints() []string { return []string{s.remote("sb")} }

// Nbctl runs ovn-nbctl and returns its output.
func (s *Server) Nbctl(t testing.TB, arguments ...string) string {
	t.Helper()
	return s.run(t, "ovn-nbctl", append([]string{"--db=" + s.remote("nb"), "--timeout=300"}, arguments...)...)
}

// Trace returns what OVN does with a packet, in the short form of ovn-trace.
func (s *Server) Trace(t testing.TB, arguments ...string) string {
	t.Helper()
	return s.run(t, "ovn-trace", append([]string{"--db=" + s.remote("sb"), "--minimal"}, arguments...)...)
}

func (s *Server) path(name string) string { return filepath.Join(s.directory, name) }

// remote is how clients connect to a database: to one of the members, if it has some.
func (s *Server) remote(name string) string {
	if name != "nb" || s.members == nil {
		return "unix:" + s.path(name+".sock")
	}
	var all []string
	for i := range s.members {
		all = append(all, "unix:"+s.path(member(i)+".sock"))
	}
	return strings.Join(all, ",")
}

// start runs a server until the test ends.
func (s *Server) start(t testing.TB, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	command := s.Command(context.Background(), name, arguments...)
	tie(t, command)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command
}

func (s *Server) run(t testing.TB, name string, arguments ...string) string {
	t.Helper()
	command := s.Command(t.Context(), name, arguments...)
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, problems.String())
	}
	return strings.TrimSpace(string(output))
}
