// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"cmp"
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
	// Cluster identifies the cluster whose objects this process pushes: the uid of its namespace kube-system. Leases of two clusters
	// have the same name, and their terms are counted separately.
	Cluster(ctx context.Context) (string, error)
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

// writer is what the database records of who writes the resources of a tenant: the cluster, and the term of its leader. Empty fields are
// not recorded.
type writer struct{ cluster, term string }

// supersedes reports whether a process of a cluster may take the place of the writer that is recorded. entered reports that it was
// recorded before: then only what cannot be of a later leader is replaced. An earlier version recorded no cluster, which therefore may
// be another one, unless its Lease is the one that this process has.
func (t Term) supersedes(cluster string, recorded writer, entered bool) bool {
	switch {
	case recorded.cluster != "" && recorded.cluster != cluster:
		return false
	case recorded.term == "" || recorded.term == t.record():
		return true
	case recorded.cluster != "" && (t.Lease == "" || t.First && !entered):
		return true
	}
	lease, rest, _ := strings.Cut(recorded.term, " ")
	number, _, _ := strings.Cut(rest, " ")
	transitions, err := strconv.Atoi(number)
	return err == nil && lease == t.Lease && transitions < t.Transitions
}

// globalTable has one row, which records the writer of each tenant in external_ids.
const globalTable = "NB_Global"

// fence lets transactions of the leader of one cluster pass only.
type fence struct {
	client *ovsdb.Client
	lease  Lease
	tenant string
	// clusterKey and termKey are the keys of the record.
	clusterKey, termKey string

	mu sync.Mutex
	// entered is what was recorded by this process, the zero writer for nothing.
	entered writer
}

func newFence(client *ovsdb.Client, tenant string, lease Lease) *fence {
	return &fence{client: client, lease: lease, tenant: tenant,
		clusterKey: "groundskeeper-cluster-" + tenant, termKey: "groundskeeper-leader-" + tenant}
}

// transact carries out a transaction of the leader. The index in an error is that of the given operations.
func (f *fence) transact(ctx context.Context, operations []ovsdb.Operation) error {
	for attempt := 0; ; attempt++ {
		if err := f.lease.Check(); err != nil {
			return fenced(err)
		}
		cluster, err := f.lease.Cluster(ctx)
		if err != nil {
			return &backend.Error{Reason: backend.Transient, Message: "identify the cluster whose objects are written: " + err.Error(), Err: err}
		}
		record, err := f.enter(ctx, cluster, f.lease.Term(), attempt > 0)
		if err != nil {
			return err
		}
		guarded := append([]ovsdb.Operation{ovsdb.Require(globalTable, f.recorded(record))}, operations...)
		_, err = f.client.Transact(ctx, guarded...)
		if failedAt(err) == 0 && attempt == 0 {
			continue // another writer is recorded, or another client removed the record
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

// pairs are those of a record in external_ids.
func (f *fence) pairs(record writer) ovsdb.Map {
	pairs := ovsdb.Map{}
	for key, value := range map[string]string{f.clusterKey: record.cluster, f.termKey: record.term} {
		if value != "" {
			pairs[key] = value
		}
	}
	return pairs
}

func (f *fence) recorded(record writer) ovsdb.Condition {
	return ovsdb.Condition{"external_ids", "includes", f.pairs(record)}
}

// enter records this process as the writer, if it is not recorded already. It returns what is recorded then.
func (f *fence) enter(ctx context.Context, cluster string, term Term, again bool) (writer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := writer{cluster: cluster}
	if term.Lease != "" {
		next.term = term.record()
	}
	entered := f.entered == next
	if entered && !again {
		return next, nil
	}
	results, err := f.client.Transact(ctx, ovsdb.Select(globalTable, nil, "_uuid", "external_ids"))
	if err != nil {
		return writer{}, failure(err)
	}
	if len(results[0].Rows) != 1 {
		return writer{}, &backend.Error{Reason: backend.Transient, Message: fmt.Sprintf(
			"table %s has %d rows: initialize it with ovn-nbctl init", globalTable, len(results[0].Rows))}
	}
	global := results[0].Rows[0]
	ids, err := global.Map("external_ids")
	if err != nil {
		return writer{}, failure(err)
	}
	recorded := writer{cluster: ids[f.clusterKey], term: ids[f.termKey]}
	if !term.supersedes(cluster, recorded, entered) {
		return writer{}, f.rejection(next, recorded)
	}
	if recorded != next {
		if err := f.replace(ctx, global.UUID(), recorded, next); err != nil {
			return writer{}, err
		}
	}
	f.entered = next
	return next, nil
}

// rejection describes the recorded writer that prevents this process from writing, and the remedy. A former leader exits soon. A manager of
// another cluster goes on until a user acts, so that its Translations have to report it.
func (f *fence) rejection(own, recorded writer) error {
	remedy := fmt.Sprintf("ovn-nbctl remove %s . external_ids %s %s", globalTable, f.termKey, f.clusterKey)
	if recorded.cluster != "" && recorded.cluster != own.cluster {
		return &backend.Error{Reason: backend.Refused, Message: fmt.Sprintf("the database records that the cluster whose namespace "+
			"kube-system has the uid %s writes the resources of tenant %s, and this is cluster %s: set another "+
			"controllers.translation.tenant. If that cluster does not exist any more: %s", recorded.cluster, f.tenant, own.cluster, remedy)}
	}
	return fenced(fmt.Errorf("the database records another leader (%s), and this process is %s. If no other controller manager uses this "+
		"tenant: %s", recorded.term, cmp.Or(own.term, "without leader election"), remedy))
}

// replace records a writer in the place of what was read.
func (f *fence) replace(ctx context.Context, global string, recorded, next writer) error {
	at := []ovsdb.Condition{ovsdb.ByID(global)}
	// Insertion does not replace a value, so one that another process recorded since stays.
	change := []ovsdb.Mutation{ovsdb.Including("external_ids", f.pairs(next))}
	if recorded != (writer{}) {
		at = append(at, f.recorded(recorded))
		change = append([]ovsdb.Mutation{ovsdb.Excluding("external_ids", f.pairs(recorded))}, change...)
	}
	if err := f.lease.Check(); err != nil {
		return fenced(err)
	}
	_, err := f.client.Transact(ctx, ovsdb.Mutate(globalTable, at, change...))
	return failure(err)
}

func fenced(err error) error {
	return &backend.Error{Reason: backend.Fenced, Message: err.Error(), Err: err}
}
