// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claimcheck

import (
	"fmt"
	"path"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
)

// The directories of the objects with reserved names, below the prefix. The reservations of a directory are in the directory of
// the same name below /claims.
const (
	projects = "/core.gardener.cloud/projects/"
	backends = "/gimbal.heptio.com/discoverybackends/"
)

// history is the state of etcd at one revision.
type history struct {
	prefix    string
	codec     *protobuf.Serializer
	revision  int64
	revisions int

	// wants maps objects to the claim that each must hold, wanted the claims to these objects, and held the claims to
	// the objects that do hold them.
	wants, wanted, held map[string]string
	// touched are the claims that this revision has something to do with.
	touched []string
}

func newHistory(prefix string) (*history, error) {
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		return nil, err
	}
	return &history{
		prefix: prefix, codec: protobuf.NewSerializer(s, s),
		wants: map[string]string{}, wanted: map[string]string{}, held: map[string]string{},
	}, nil
}

// play notes one change of a key.
func (h *history) play(event *clientv3.Event) error {
	key, deleted := strings.TrimPrefix(string(event.Kv.Key), h.prefix), event.Type == mvccpb.Event_DELETE
	switch {
	case strings.HasPrefix(key, "/claims/"):
		h.touched = append(h.touched, key)
		if deleted {
			delete(h.held, key)
			return nil
		}
		h.held[key] = strings.TrimPrefix(string(event.Kv.Value), h.prefix)
	case strings.HasPrefix(key, projects), strings.HasPrefix(key, backends):
		if claim := h.wants[key]; claim != "" {
			delete(h.wants, key)
			delete(h.wanted, claim)
			h.touched = append(h.touched, claim)
		}
		if deleted {
			return nil
		}
		claim, err := h.claimOf(key, event.Kv.Value)
		if err != nil {
			return fmt.Errorf("revision %d: %s: %w", event.Kv.ModRevision, key, err)
		}
		if other := h.wanted[claim]; other != "" {
			return fmt.Errorf("revision %d: %s and %s both need %s", event.Kv.ModRevision, other, key, claim)
		}
		h.wants[key], h.wanted[claim] = claim, key
		h.touched = append(h.touched, claim)
	}
	return nil
}

// claimOf returns the claim that an object must hold. The name of a DiscoveryBackend is in its key, so that it may be
// encrypted; a Project must not be.
func (h *history) claimOf(key string, value []byte) (string, error) {
	if strings.HasPrefix(key, backends) {
		return "/claims" + backends + path.Base(key) + "-", nil
	}
	object, _, err := h.codec.Decode(value, nil, nil)
	if err != nil {
		return "", fmt.Errorf("cannot read it: %w", err)
	}
	project, ok := object.(*gardenerv1beta1.Project)
	if !ok || project.NamespaceName() == "" {
		return "", fmt.Errorf("a %T without a namespace", object)
	}
	return "/claims" + projects + project.NamespaceName() + "/", nil
}

// check compares, once all changes of a revision are played.
func (h *history) check() error {
	if len(h.touched) == 0 {
		return nil
	}
	h.revisions++
	for _, claim := range h.touched {
		if h.held[claim] != h.wanted[claim] {
			return fmt.Errorf("revision %d: %s is held by %q, but needed by %q", h.revision, claim, h.held[claim], h.wanted[claim])
		}
		if h.held[claim] == "" {
			continue
		}
		for other := range h.held {
			// The separator at the end of a claim makes a name above another one the start of it.
			if other != claim && (strings.HasPrefix(claim, other) || strings.HasPrefix(other, claim)) {
				return fmt.Errorf("revision %d: %s and %s are both held", h.revision, other, claim)
			}
		}
	}
	h.touched = h.touched[:0]
	return nil
}
