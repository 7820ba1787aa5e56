// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"fmt"
	"strconv"
	"strings"
)

// AcceptEmpty acknowledges, as the value of --accept-store, that an empty store starts beside project
// namespaces which no record names.
const AcceptEmpty = "empty"

// Record names one state of one store.
type Record struct {
	// ID is random and never changes.
	ID string
	// Revision is the etcd revision of a write to the store. It only grows.
	Revision int64
}

// String returns the record as --accept-store takes it: <id>@<revision>.
func (r Record) String() string { return r.ID + "@" + strconv.FormatInt(r.Revision, 10) }

// Facts are what is known before the server listens.
type Facts struct {
	// Recorded is what the management cluster remembers. Nil: its ConfigMap does not exist.
	Recorded *Record
	// Stored is what the store reports about itself. Nil: it was never used, or wiped.
	Stored *Record
	// HasProjects reports whether the store holds a Project.
	HasProjects bool
	// Dependents are the project namespaces of the management cluster that a Project owns: what its garbage collector deletes when
	// that Project is not found. They matter only where Recorded and Stored do not already agree.
	Dependents []string
	// Accept is the value of --accept-store.
	Accept string
}

// Action is what a server does with its store.
type Action int

const (
	// Reject ends the server before it listens.
	Reject Action = iota
	// Proceed serves: the store is the recorded one, at the recorded state or a later one.
	Proceed
	// Adopt records the store, and serves.
	Adopt
)

// Decide reports whether a server may serve its store. The reason is empty for Proceed; for Reject it reports what was found, what
// is at stake and how to acknowledge it.
func Decide(f Facts) (Action, string) {
	switch {
	case f.Recorded == nil && !f.HasProjects && len(f.Dependents) > 0:
		if f.Accept == AcceptEmpty {
			return Adopt, "an empty store, acknowledged by --accept-store"
		}
		return Reject, rejection("it holds no Project and nothing reports which store was used before", f.Dependents, AcceptEmpty)
	case f.Recorded == nil && f.Stored == nil:
		return Adopt, "a new store"
	case f.Recorded == nil:
		return Adopt, "a store that was used before"
	case f.Accept == f.Recorded.String() && !f.agree():
		return Adopt, "another store or state, acknowledged by --accept-store"
	case f.Stored == nil && !f.HasProjects:
		return Reject, rejection(fmt.Sprintf("it is empty, but store %s was used before", f.Recorded.ID), f.Dependents, f.Recorded.String())
	case f.Stored == nil:
		return Reject, rejection(fmt.Sprintf("it has no id, but store %s was used before", f.Recorded.ID), f.Dependents, f.Recorded.String())
	case f.Stored.ID != f.Recorded.ID:
		return Reject, rejection(fmt.Sprintf("it is store %s, but store %s was used before", f.Stored.ID, f.Recorded.ID), f.Dependents,
			f.Recorded.String())
	case f.Stored.Revision < f.Recorded.Revision:
		return Reject, rejection(fmt.Sprintf("it is at an older state (recorded at revision %d) than the one used before (revision %d)",
			f.Stored.Revision, f.Recorded.Revision), f.Dependents, f.Recorded.String())
	default:
		return Proceed, ""
	}
}

// agree reports whether the store is the recorded one, not older than recorded.
func (f Facts) agree() bool {
	return f.Recorded != nil && f.Stored != nil && f.Stored.ID == f.Recorded.ID && f.Stored.Revision >= f.Recorded.Revision
}

func rejection(found string, dependents []string, accept string) string {
	return fmt.Sprintf("this is not the store the cluster knows: %s; served unchanged, the garbage collector deletes what belongs to "+
		"Projects it lacks%s; "+
		"restore its etcd data, or accept the loss with --accept-store=%s", found, stake(dependents), accept)
}

// stake names some of the namespaces.
func stake(dependents []string) string {
	const named = 3
	switch n := len(dependents); {
	case n == 0:
		return ""
	case n > named:
		return fmt.Sprintf(", now %d namespaces (%s, ...)", n, strings.Join(dependents[:named], ", "))
	default:
		return fmt.Sprintf(", now %d namespaces (%s)", n, strings.Join(dependents, ", "))
	}
}
