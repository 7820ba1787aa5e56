// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// store is the part of etcd that identifies the store.
type store struct {
	kv     clientv3.KV
	prefix string
}

// marker is the value of the key.
type marker struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"`
	// Import names the backup that is being imported. While it does, no server serves the store.
	Import string `json:"import,omitempty"`
}

func (s store) key() string { return path.Join("/", s.prefix, "store") }

// read returns the key, nil when there is none, and the current revision of etcd.
func (s store) read(ctx context.Context) (*mvccpb.KeyValue, int64, error) {
	found, err := s.kv.Get(ctx, s.key())
	if err != nil {
		return nil, 0, fmt.Errorf("etcd key %s: %w", s.key(), err)
	}
	if len(found.Kvs) == 0 {
		return nil, found.Header.Revision, nil
	}
	return found.Kvs[0], found.Header.Revision, nil
}

// record returns what the key names, nil when there is no key, and the current revision of etcd.
func (s store) record(ctx context.Context) (*Record, int64, error) {
	kv, revision, err := s.read(ctx)
	if kv == nil || err != nil {
		return nil, revision, err
	}
	record, err := s.decode(kv)
	return record, revision, err
}

// holds reports whether there is an object below a resource's prefix.
func (s store) holds(ctx context.Context, resource string) (bool, error) {
	prefix := path.Join("/", s.prefix, resource) + "/"
	found, err := s.kv.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return false, fmt.Errorf("etcd keys %s: %w", prefix, err)
	}
	return found.Count > 0, nil
}

// create gives the store an id unless it has one, and returns its record. It is not done when the key was deleted meanwhile.
func (s store) create(ctx context.Context, id string) (Record, bool, error) {
	if done, err := s.put(ctx, marker{ID: id}, clientv3.Compare(clientv3.Version(s.key()), "=", 0)); done || err != nil {
		return Record{ID: id}, done, err
	}
	record, _, err := s.record(ctx)
	if record == nil {
		return Record{}, false, err
	}
	return *record, true, nil
}

// branch gives another id to a store that was put back to an older state: its revisions are counted once more from there, so by the
// old id neither the state that was given up nor a later copy could be reported from it. It is not done when the store reports
// something else by now.
func (s store) branch(ctx context.Context, from Record, id string) (Record, bool, error) {
	kv, _, err := s.read(ctx)
	if kv == nil || err != nil {
		return Record{}, false, err
	}
	current, err := s.decode(kv)
	if err != nil || *current != from {
		return Record{}, false, err
	}
	to := Record{ID: id, Revision: from.Revision}
	done, err := s.replace(ctx, kv, to)
	return to, done, err
}

// advance writes a revision into the store, unless it already has that or a later one, and returns
// the later one. It fails with ErrReplaced when the store is another one by now.
func (s store) advance(ctx context.Context, to Record) (Record, error) {
	for {
		kv, _, err := s.read(ctx)
		if err != nil {
			return Record{}, err
		}
		if kv == nil {
			return Record{}, fmt.Errorf("%w: etcd key %s has been deleted", ErrReplaced, s.key())
		}
		current, err := s.decode(kv)
		if errors.Is(err, errImporting) {
			return Record{}, fmt.Errorf("%w: %w", ErrReplaced, err)
		}
		if err != nil {
			return Record{}, err
		}
		if current.ID != to.ID {
			return Record{}, fmt.Errorf("%w: etcd key %s names store %s, not %s", ErrReplaced, s.key(), current.ID, to.ID)
		}
		if current.Revision >= to.Revision {
			return *current, nil
		}
		if done, err := s.replace(ctx, kv, to); err != nil {
			return Record{}, err
		} else if done {
			return to, nil
		}
	}
}

// replace writes a record, if the key is still as it was read. It reports whether it was.
func (s store) replace(ctx context.Context, read *mvccpb.KeyValue, to Record) (bool, error) {
	return s.put(ctx, marker{ID: to.ID, Revision: to.Revision}, clientv3.Compare(clientv3.ModRevision(s.key()), "=", read.ModRevision))
}

// put writes the key, if all conditions hold. It reports whether they did.
func (s store) put(ctx context.Context, m marker, conditions ...clientv3.Cmp) (bool, error) {
	value, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	txn, err := s.kv.Txn(ctx).If(conditions...).Then(clientv3.OpPut(s.key(), string(value))).Commit()
	if err != nil {
		return false, fmt.Errorf("etcd key %s: %w", s.key(), err)
	}
	return txn.Succeeded, nil
}

func (s store) decode(kv *mvccpb.KeyValue) (*Record, error) {
	var m marker
	if err := json.Unmarshal(kv.Value, &m); err != nil || m.ID == "" {
		return nil, fmt.Errorf("etcd key %s does not name a store: restore it from a backup, or delete it to start over", s.key())
	}
	if m.Import != "" {
		return nil, fmt.Errorf("etcd key %s: %w: some objects may be missing; run groundskeeper-apiserver import again with the same file (sum "+
			"%s)", s.key(), errImporting, m.Import)
	}
	return &Record{ID: m.ID, Revision: m.Revision}, nil
}
