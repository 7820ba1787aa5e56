// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnserver

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// database is the name of the Northbound database.
const database = "OVN_Northbound"

func member(i int) string { return fmt.Sprintf("nb%d", i) }

// startMembers replicates the Northbound database to servers, by Raft.
func (s *Server) startMembers(t testing.TB, number int) {
	t.Helper()
	s.members = make([]*exec.Cmd, number)
	address := func(i int) string { return "unix:" + s.path(member(i)+".raft") }
	for i := range s.members {
		if i == 0 {
			s.run(t, "ovsdb-tool", "create-cluster", s.path(member(i)+".db"), s.Schema("nb"), address(i))
		} else {
			s.run(t, "ovsdb-tool", "join-cluster", s.path(member(i)+".db"), database, address(i), address(0))
		}
		s.StartMember(t, i)
		s.run(t, "ovsdb-client", "wait", "unix:"+s.path(member(i)+".sock"), database, "connected")
	}
}

// StartMember starts a member that does not run.
func (s *Server) StartMember(t testing.TB, i int) {
	t.Helper()
	s.members[i] = s.serve(t, member(i))
}

// StartMembers starts the members that do not run.
func (s *Server) StartMembers(t testing.TB) {
	t.Helper()
	for i, running := range s.members {
		if running == nil {
			s.StartMember(t, i)
		}
	}
}

// KillMembers kills all members.
func (s *Server) KillMembers() {
	for i := range s.members {
		s.kill(&s.members[i], member(i))
	}
}

// KillLeader kills the member that is the leader, and returns its number.
func (s *Server) KillLeader(t testing.TB) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		for i, running := range s.members {
			if running != nil && strings.Contains(s.status(t, i), "Role: leader") {
				s.kill(&s.members[i], member(i))
				return i
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no member is the leader")
		}
	}
}

// status is that of a member, empty if it does not respond.
func (s *Server) status(t testing.TB, i int) string {
	t.Helper()
	output, err := s.Command(t.Context(), "ovs-appctl", "-t", s.path(member(i)+".ctl"), "cluster/status", database).Output()
	if err != nil {
		return ""
	}
	return string(output)
}
