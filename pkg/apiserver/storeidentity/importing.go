// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// ErrNotEmpty means that a store holds objects, or that another backup is being imported into it.
var ErrNotEmpty = errors.New("the store is not empty")

// errImporting means that only a part of the objects may be there.
var errImporting = errors.New("a backup was not imported to its end")

// Importing is a store that an import fills. No server serves it until the import is finished: half of the objects are
// as bad as an older state. A server that serves it at the beginning ends, as its store was replaced.
type Importing struct {
	config Config
	store  store
	id     string
	source string
}

// Stored returns the record in a store, nil when there is none, and the revision of etcd at which it was read.
func Stored(ctx context.Context, kv clientv3.KV, prefix string) (*Record, int64, error) {
	return store{kv: kv, prefix: prefix}.record(ctx)
}

// CheckImport reports whether BeginImport would begin.
func CheckImport(ctx context.Context, config Config, source string) error {
	s := store{kv: config.KV, prefix: config.Prefix}
	_, _, err := s.importing(ctx, source)
	return err
}

// BeginImport closes an empty store to servers, and gives it a new id: what it will hold is another state than any that the
// cluster knows. The source names what is imported. An import of the same source that was interrupted is taken up.
func BeginImport(ctx context.Context, config Config, source string) (*Importing, error) {
	i := &Importing{config: config, store: store{kv: config.KV, prefix: config.Prefix}, source: source}
	for {
		id, revision, err := i.store.importing(ctx, source)
		if err != nil {
			return nil, err
		}
		if id != "" {
			i.id = id
			return i, nil
		}
		m := marker{ID: string(uuid.NewUUID()), Import: source}
		begun, err := i.store.begin(ctx, m, revision)
		if err != nil {
			return nil, err
		}
		if begun {
			i.id = m.ID
			return i, nil
		}
	}
}

// Finish opens the store to servers, after the management cluster, where it is known, has recorded the store. Otherwise a server asks to
// accept it with --accept-store.
func (i *Importing) Finish(ctx context.Context) (Record, error) {
	_, revision, err := i.store.read(ctx)
	if err != nil {
		return Record{}, err
	}
	record := Record{ID: i.id, Revision: revision}
	for written := i.config.Host == nil; !written; {
		host := host{client: i.config.Host}
		_, version, err := host.record(ctx)
		if err != nil {
			return Record{}, err
		}
		if written, err = host.write(ctx, record, version); err != nil {
			return Record{}, err
		}
	}
	kv, _, err := i.store.read(ctx)
	if err != nil {
		return Record{}, err
	}
	var m marker
	done := kv != nil && json.Unmarshal(kv.Value, &m) == nil && m.ID == i.id
	if done {
		done, err = i.store.replace(ctx, kv, record)
	}
	if err == nil && !done {
		err = fmt.Errorf("etcd key %s was changed during the import: empty the store and import again", i.store.key())
	}
	return record, err
}

// importing returns the id of a store that an import of the source has begun to fill. It is empty when the store is; the
// revision of the key is for begin then.
func (s store) importing(ctx context.Context, source string) (id string, revision int64, err error) {
	kv, _, err := s.read(ctx)
	if err != nil {
		return "", 0, err
	}
	own := int64(0)
	if kv != nil {
		var m marker
		own, revision = 1, kv.ModRevision
		switch err := json.Unmarshal(kv.Value, &m); {
		case err != nil || m.ID == "":
			return "", 0, fmt.Errorf("%w: etcd key %s does not name a store", ErrNotEmpty, s.key())
		case m.Import == source:
			return m.ID, revision, nil
		case m.Import != "":
			return "", 0, fmt.Errorf("%w: an import of another backup (sum %s) has begun; finish it, or empty the store", ErrNotEmpty, m.Import)
		}
	}
	all, err := s.kv.Get(ctx, s.prefixOfKeys(), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return "", 0, fmt.Errorf("etcd keys %s: %w", s.prefixOfKeys(), err)
	}
	if others := all.Count - own; others > 0 {
		return "", 0, fmt.Errorf("%w: etcd has %d keys below %s", ErrNotEmpty, others, s.prefixOfKeys())
	}
	return "", revision, nil
}

// begin writes the marker, if the store is empty and its key is still at the revision. It reports whether it was.
func (s store) begin(ctx context.Context, m marker, revision int64) (bool, error) {
	// The version of a key that does not exist is 0, and so is that of an empty range.
	return s.put(ctx, m,
		clientv3.Compare(clientv3.ModRevision(s.key()), "=", revision),
		clientv3.Compare(clientv3.Version(s.prefixOfKeys()).WithRange(s.key()), "=", 0),
		clientv3.Compare(clientv3.Version(s.key()+"\x00").WithRange(clientv3.GetPrefixRangeEnd(s.prefixOfKeys())), "=", 0))
}

// prefixOfKeys returns what all keys of the server begin with.
func (s store) prefixOfKeys() string { return s.key()[:len(s.key())-len("store")] }
