// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package storeidentity prevents a server from serving a store other than the one that the management cluster has recorded.
//
// The garbage collector of Kubernetes deletes an object whose owner is "not found" or has another UID. Every project namespace is owned
// by a Project. A server that starts with an empty store, or with an older state of its store, would therefore cause the deletion of all
// of them within seconds. Each store has a random ID, which the management cluster records together with the last written revision. A
// server whose store does not match exits before it listens, because the garbage collector starts as soon as discovery succeeds.
//
// The state of the store is the key <prefix>/store, a JSON object {id, revision}. The revision is that of the last recorded write, not
// the current revision of etcd, which is meaningless after etcdutl snapshot restore --bump-revision and in a shared etcd. A write is
// recorded in the store first and then in the cluster, so that the store is behind the cluster only if it was restored. Writes of the
// last seconds before a crash (see Recorder) are not recorded until a server runs again: the loss of exactly these is not detected.
package storeidentity

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const (
	// Namespace is that of the ConfigMap in the management cluster.
	Namespace = "groundskeeper-system"
	// Name is that of the ConfigMap in the management cluster.
	Name = "groundskeeper-store"

	defaultTimeout = 30 * time.Second
)

// Config specifies where store and cluster are.
type Config struct {
	// KV reaches etcd.
	KV clientv3.KV
	// Prefix is the prefix of all keys of the server (--etcd-prefix).
	Prefix string
	// Projects is the prefix of the keys of Projects below Prefix: core.gardener.cloud/projects. Empty: another server
	// of the cluster serves Projects, and no namespace belongs to an object of this store.
	Projects string
	// Host is a client of the management cluster.
	Host kubernetes.Interface
	// Accept is the value of --accept-store.
	Accept string
	// Timeout bounds how long Verify waits for an API server that does not respond. 0 means 30 s.
	Timeout time.Duration
}

// Verify returns the record of the store that the server may serve, or an error of one line: the rejection, or that store or
// cluster cannot be queried. Servers that start concurrently agree on one store.
func Verify(ctx context.Context, config Config) (Record, error) {
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, config.Timeout)
	defer cancel()
	store := store{kv: config.KV, prefix: config.Prefix}
	host := host{client: config.Host, patient: true}
	for {
		record, done, err := verify(ctx, config, store, host)
		if done || err != nil {
			return record, err
		}
	}
}

// verify returns one attempt. It is not done when another server changed the record meanwhile.
func verify(ctx context.Context, config Config, store store, host host) (Record, bool, error) {
	// The cluster first: who reads its record finds a store that is at least as new.
	recorded, version, err := host.record(ctx)
	if err != nil {
		return Record{}, false, err
	}
	stored, _, err := store.record(ctx)
	if err != nil {
		return Record{}, false, err
	}
	facts := Facts{Recorded: recorded, Stored: stored, Accept: config.Accept}
	if !facts.agree() && config.Projects != "" {
		if facts.HasProjects, err = store.holds(ctx, config.Projects); err != nil {
			return Record{}, false, err
		}
		if facts.Dependents, err = host.dependents(ctx); err != nil {
			return Record{}, false, err
		}
	}
	action, reason := Decide(facts)
	switch action {
	case Proceed:
		return *stored, true, nil
	case Adopt:
		adopted, done, err := adopt(ctx, facts, store)
		if err != nil || !done {
			return Record{}, false, err
		}
		written, err := host.write(ctx, adopted, version)
		if err == nil && written {
			klog.FromContext(ctx).Info("Store recorded", "reason", reason, "id", adopted.ID, "configMap", klog.KRef(Namespace, Name))
		}
		return adopted, written, err
	default:
		return Record{}, false, fmt.Errorf("etcd %s: %s", config.Prefix, reason)
	}
}

// adopt gives the store the id by which the cluster is to know it, unless it has one already. It is not done when another server
// changed the store meanwhile.
func adopt(ctx context.Context, facts Facts, store store) (Record, bool, error) {
	id := string(uuid.NewUUID())
	if facts.Recorded != nil && facts.Stored != nil && facts.Recorded.ID == facts.Stored.ID {
		return store.branch(ctx, *facts.Stored, id)
	}
	return store.create(ctx, id)
}
