// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// Lease reports whether this process may write.
type Lease interface {
	// Check returns an error if it may not.
	Check() error
	// Term is the present term of this process as the leader; the zero Term without an election.
	Term() Term
}

// Term is the time for which a process is the leader. It is recorded in the database, so that a transaction of a former leader fails
// even if it arrives late.
type Term struct {
	// Lease is the namespace and name of the Lease.
	Lease string
	// Transitions is how often the Lease changed its holder.
	Transitions int
	// Holder is the identity of this process.
	Holder string
	// First reports that this process created the Lease, so that the number began again.
	First bool
}

// record returns the term as the database has it.
func (t Term) record() string { return fmt.Sprintf("%s %d %s", t.Lease, t.Transitions, t.Holder) }

// supersedes reports whether a term may take the place of the one that is recorded. entered reports that it was recorded before: then
// only what cannot be of a later leader is replaced.
func (t Term) supersedes(recorded string, entered bool) bool {
	if recorded == "" || recorded == t.record() {
		return true
	}
	if t.First && !entered {
		return true
	}
	lease, rest, _ := strings.Cut(recorded, " ")
	number, _, _ := strings.Cut(rest, " ")
	transitions, err := strconv.Atoi(number)
	return err == nil && lease == t.Lease && transitions < t.Transitions
}

// globalTable has one row, which records the term in external_ids.
const globalTable = "NB_Global"

// fence lets transactions of the leader pass only.
type fence struct {
	client *ovsdb.Client
	lease  Lease
	key    string

	mu sync.Mutex
	// entered is the term that was recorded by this process, and accepted reports that there is one.
	entered  Term
	accepted bool
}

func newFence(client *ovsdb.Client, tenant string, lease Lease) *fence {
	return &fence{client: client, lease: lease, key: "groundskeeper-leader-" + tenant}
}

// transact carries out a transaction of the leader. The index in an error is that of the given operations.
func (f *fence) transact(ctx context.Context, operations []ovsdb.Operation) error {
	for attempt := 0; ; attempt++ {
		if err := f.lease.Check(); err != nil {
			return fenced(err)
		}
		term := f.lease.Term()
		if term.Lease == "" {
			_, err := f.client.Transact(ctx, operations...)
			return err
		}
		if err := f.enter(ctx, term, attempt > 0); err != nil {
			return err
		}
		guarded := append([]ovsdb.Operation{ovsdb.Require(globalTable, f.recorded(term.record()))}, operations...)
		_, err := f.client.Transact(ctx, guarded...)
		if failedAt(err) == 0 && attempt == 0 {
			continue // another leader is recorded, or another client removed the record
		}
		if failedAt(err) == 0 {
			return fenced(errors.New("the recorded leader changes"))
		}
		if e, ok := errors.AsType[*ovsdb.Error](err); ok {
			return &ovsdb.Error{Operation: e.Operation - 1, Code: e.Code, Details: e.Details}
		}
		return err
	}
}

func (f *fence) recorded(value string) ovsdb.Condition {
	return ovsdb.Condition{"external_ids", "includes", ovsdb.Map{f.key: value}}
}

// enter records a term, if it is not recorded already.
func (f *fence) enter(ctx context.Context, term Term, again bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	entered := f.accepted && f.entered == term
	if entered && !again {
		return nil
	}
	results, err := f.client.Transact(ctx, ovsdb.Select(globalTable, nil, "_uuid", "external_ids"))
	if err != nil {
		return failure(err)
	}
	if len(results[0].Rows) != 1 {
		return &backend.Error{Reason: backend.Transient, Message: fmt.Sprintf("table %s has %d rows: initialize it with ovn-nbctl init", globalTable, len(results[0].Rows))}
	}
	global := results[0].Rows[0]
	ids, err := global.Map("external_ids")
	if err != nil {
		return failure(err)
	}
	recorded := ids[f.key]
	if !term.supersedes(recorded, entered) {
		return fenced(fmt.Errorf("the database records another leader (%s), and this process is %s. If no other controller manager uses this tenant: ovn-nbctl remove %s . external_ids %s",
			recorded, term.record(), globalTable, f.key))
	}
	if recorded != term.record() {
		if err := f.replace(ctx, global.UUID(), recorded, term); err != nil {
			return err
		}
	}
	f.entered, f.accepted = term, true
	return nil
}

// replace records a term in the place of what was read.
func (f *fence) replace(ctx context.Context, global, recorded string, term Term) error {
	at := []ovsdb.Condition{ovsdb.ByID(global)}
	if recorded != "" {
		at = append(at, f.recorded(recorded))
	}
	// Insertion does not replace a value, so one that another process recorded since stays.
	change := []ovsdb.Mutation{ovsdb.Including("external_ids", ovsdb.Map{f.key: term.record()})}
	if recorded != "" {
		change = append([]ovsdb.Mutation{ovsdb.Excluding("external_ids", ovsdb.Map{f.key: recorded})}, change...)
	}
	if err := f.lease.Check(); err != nil {
		return fenced(err)
	}
	if _, err := f.client.Transact(ctx, ovsdb.Mutate(globalTable, at, change...)); err != nil {
		return failure(err)
	}
	return nil
}

func fenced(err error) error {
	return &backend.Error{Reason: backend.Fenced, Message: err.Error(), Err: err}
}
