// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// silence is how long a machine must have shown no sign of life until that means something: a kubelet renews the Lease of its node four
// times in that time.
const silence = 40 * time.Second

// signs are what only the kubelet of a machine writes. They are only compared with each other: the times in them are of other clocks.
type signs struct {
	// lease is the version of the Lease of its node; empty if there is none.
	lease string
	// pods are the versions of the status of its pods, by namespace, name and uid.
	pods map[string]string
}

// since returns what shows that a machine lived after earlier signs of it; empty if nothing does. What is gone was deleted by others.
func (s signs) since(before signs) string {
	if s.lease != "" && s.lease != before.lease {
		return "its Lease was renewed"
	}
	for _, pod := range slices.Sorted(maps.Keys(s.pods)) {
		if s.pods[pod] != "" && s.pods[pod] != before.pods[pod] {
			return "it reported the status of pod " + pod[:strings.LastIndex(pod, "/")]
		}
	}
	return ""
}

// signsOf returns the signs in a Lease and in pods.
func signsOf(lease *metav1.PartialObjectMetadata, pods []metav1.PartialObjectMetadata) signs {
	s := signs{lease: lease.ResourceVersion, pods: map[string]string{}}
	for i := range pods {
		s.pods[pods[i].Namespace+"/"+pods[i].Name+"/"+string(pods[i].UID)] = statusVersion(pods[i].ManagedFields)
	}
	return s
}

// statusVersion is another one after anything but the control plane has changed a status. The controllers report pods of a lost node not
// ready, and the scheduler those that it found no node for.
func statusVersion(fields []metav1.ManagedFieldsEntry) string {
	var versions []string
	for _, entry := range fields {
		ours := entry.Manager == "kube-controller-manager" || entry.Manager == "kube-scheduler"
		if entry.Subresource == "status" && !ours && entry.Time != nil {
			versions = append(versions, entry.Manager+" "+entry.Time.UTC().Format(time.RFC3339))
		}
	}
	return strings.Join(slices.Sorted(slices.Values(versions)), ",")
}

// vigil is what was read of a machine when its node was found missing.
type vigil struct {
	signs
	// begun is when they were read, by the clock of this process. They are of an absence that began before.
	begun time.Time
}

// vigils are those of the missing nodes, by the names of the Nodes.
type vigils struct {
	mu     sync.Mutex
	byNode map[string]vigil
}

// begun returns since when the signs of all these nodes are known, in an absence; zero: they are not.
func (v *vigils) begun(nodes []string, absence time.Time) (last time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, node := range nodes {
		known, ok := v.byNode[node]
		if !ok || known.begun.Before(absence) {
			return time.Time{}
		}
		last = later(last, known.begun)
	}
	return last
}

func (v *vigils) of(node string) (vigil, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.byNode[node]
	return known, ok
}

// WatchLife reads the signs of life of nodes that went missing, as long as claims depend on them. What cannot be read is read later, and
// its claims are retained until then.
func (s *Site) WatchLife(ctx context.Context, subjects []Subject) {
	if !*s.Config.ProofOfLife {
		return
	}
	needed, unknown := sets.Set[string]{}, sets.Set[string]{}
	for i := range subjects {
		if subjects[i].ClaimDecision.Action == Keep {
			continue
		}
		for _, node := range s.Inventory.everNamed(subjects[i].Nodes) {
			needed.Insert(node)
			if subjects[i].watched.IsZero() {
				unknown.Insert(node)
			}
		}
	}
	s.vigils.mu.Lock()
	maps.DeleteFunc(s.vigils.byNode, func(node string, _ vigil) bool { return !needed.Has(node) })
	s.vigils.mu.Unlock()
	nodes := sets.List(unknown)
	err := s.Each(len(nodes), func(n int) error {
		read, err := s.readSigns(ctx, nodes[n])
		if err == nil {
			s.vigils.mu.Lock()
			defer s.vigils.mu.Unlock()
			s.vigils.byNode[nodes[n]] = vigil{read, s.Clock.Now()}
		}
		return err
	})
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to read signs of life of missing nodes, retrying later")
	}
}

// ProofOfLife reads live what shows that the machine of one of the nodes of a volume lives although its Node is lost; empty: nothing does.
// Then its absence begins again. Each node is read once for a batch.
func (p *Permit) ProofOfLife(ctx context.Context, stale Stale) (string, error) {
	if !*p.site.Config.ProofOfLife {
		return "", nil
	}
	for _, node := range p.site.Inventory.everNamed(stale.Nodes) {
		before, known := p.site.vigils.of(node)
		if !known || before.begun.Before(stale.Since) {
			return "", errors.New("the signs of life of node " + node + " are not known yet")
		}
		now, err := p.signsOf(ctx, node)
		if err != nil {
			return "", err
		}
		if proof := now.since(before.signs); proof != "" {
			p.site.Inventory.Interrupt(stale.Nodes)
			return fmt.Sprintf("the machine of node %s is alive, because %s", node, proof), nil
		}
	}
	return "", nil
}

// signsOf reads the signs of a node once.
func (p *Permit) signsOf(ctx context.Context, node string) (signs, error) {
	p.mu.Lock()
	if p.signs == nil {
		p.signs = map[string]func() (signs, error){}
	}
	read := p.signs[node]
	if read == nil {
		read = sync.OnceValues(func() (signs, error) { return p.site.readSigns(ctx, node) })
		p.signs[node] = read
	}
	p.mu.Unlock()
	return read()
}
