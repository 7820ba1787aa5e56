// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

const (
	// soakDelay is for how long a claim waits, soakLives how many lives of nodes run side by side, each with a process, a class and
	// nodes.
	soakDelay, soakLives = 2 * time.Second, 10
	// soakMargin is how much later than it happened the test may notice something.
	soakMargin = 2 * time.Second
)

// soakMachine is what a Node stands for. Its Node can go and come back, and lose its labels.
type soakMachine struct {
	name, host string // of its Node, and the label of its host name
	node       *corev1.Node
	relabelled bool
	// here are the times during which its Node existed: from before it was made until it was deleted.
	here []presence
}

type presence struct{ from, to time.Time }

// soakVolume is a volume as its user sees it.
type soakVolume struct {
	*corev1.PersistentVolume
	claimed bool
	// machines are those that its affinity names; without any it may never be touched.
	machines []*soakMachine
	optedOut []presence
}

// nodeLife is a random life of nodes, with a process that cleans up after them.
type nodeLife struct {
	*volumes
	rand     *rand.Rand
	machines []*soakMachine
	cleaner  *cleaner
	number   int

	mu   sync.Mutex // guards the fields below, and the machines
	made []*soakVolume
	log  []string
}

// TestSoakLocalVolumes lets nodes live at random on a real control plane: deletion, return, relabelling, flapping, forms of
// affinity, classes, sources, opt-outs, and a process that is killed or stopped by signals, with and without changes meanwhile.
// Nothing is deleted that must stay, and nothing stays that must go. The controllers' own soak test has more forms and sources, and
// a dedicated clock.
func TestSoakLocalVolumes(t *testing.T) {
	rare(t)
	t.Parallel()
	p, steps, seed := newVolumePlane(t), rounds(t, 10)*10, uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d steps", seed, steps)
	for i := range soakLives {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			l := &nodeLife{volumes: p.newVolumes(t, ""), rand: rand.New(rand.NewPCG(seed, uint64(i)))}
			l.live(steps / soakLives)
		})
	}
}

func (l *nodeLife) live(steps int) {
	l.t.Helper()
	for i := range 5 {
		m := &soakMachine{name: fmt.Sprintf("m%d", i), host: fmt.Sprintf("m%d", i)}
		if i%2 == 1 {
			m.host = fmt.Sprintf("host%d", i)
		}
		l.machines = append(l.machines, m)
		l.join(m)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	var judge sync.WaitGroup
	for _, list := range []client.ObjectList{&corev1.PersistentVolumeList{}, &corev1.PersistentVolumeClaimList{}} {
		w, err := l.c.Watch(ctx, list, client.InNamespace(l.ns))
		if err != nil {
			l.t.Fatal(err)
		}
		judge.Go(func() {
			for event := range w.ResultChan() {
				if object, ok := event.Object.(client.Object); ok && event.Type != watch.Added && !object.GetDeletionTimestamp().IsZero() {
					l.judge(object)
				}
			}
		})
	}
	defer judge.Wait()
	defer cancel()
	for range 4 {
		l.make()
	}
	l.start()
	for range steps {
		l.step()
		l.pause(l.rand.IntN(1500))
		if l.t.Failed() {
			break
		}
	}
	if !l.t.Failed() {
		l.settle()
	}
	if l.t.Failed() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.t.Logf("what happened:\n%s", strings.Join(l.log, "\n"))
	}
}

func (l *nodeLife) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

// pause lets time pass: that is what the process decides by.
func (l *nodeLife) pause(milliseconds int) {
	select {
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
	case <-l.t.Context().Done():
	}
}

func (l *nodeLife) start() {
	l.note("start")
	l.cleaner = l.clean("--leader-elect=false", "--volume-sources=local,hostPath", "--driver-grace-period=1s")
}

func (l *nodeLife) signal(s syscall.Signal) {
	if err := l.cleaner.cmd.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

// join makes the Node of a machine.
func (l *nodeLife) join(m *soakMachine) {
	l.mu.Lock()
	m.here, m.relabelled = append(m.here, presence{from: time.Now()}), false
	l.mu.Unlock()
	m.node = l.node(m.name, m.host)
	l.note("node %s joined", m.name)
}

func (l *nodeLife) leave(m *soakMachine) {
	before := l.lose(m.node)
	l.mu.Lock()
	m.here[len(m.here)-1].to, m.node = before, nil
	l.mu.Unlock()
	l.note("node %s left", m.name)
}

// change is a random change of a node.
func (l *nodeLife) change() {
	m := l.machines[l.rand.IntN(len(l.machines))]
	if m.node == nil {
		l.join(m)
		return
	}
	switch l.rand.IntN(6) {
	case 0, 1, 2:
		l.leave(m)
	case 3:
		if l.remembers(m) { // otherwise the labels of the node are not recorded anywhere
			l.relabel(m, l.ns+"-other")
		}
	case 4:
		l.relabel(m, l.ns+"-"+m.host)
	default: // flaps
		l.leave(m)
		l.join(m)
	}
}

func (l *nodeLife) relabel(m *soakMachine, host string) {
	l.label(m.node, corev1.LabelHostname, host)
	m.relabelled = host != l.ns+"-"+m.host
	l.note("node %s has host name %s", m.name, host)
}

// remembers reports whether the process wrote down that the Node of a machine responded to its host name.
func (l *nodeLife) remembers(m *soakMachine) bool {
	record := &corev1.ConfigMap{}
	if err := l.c.Get(l.t.Context(), client.ObjectKey{Namespace: l.ns, Name: localvolume.RecordName}, record); err != nil {
		return false
	}
	return slices.Contains(strings.Split(record.Data[localvolume.SeenPrefix+l.ns+"-"+m.host], ","), m.node.Name)
}

// step is a random step.
func (l *nodeLife) step() {
	switch l.rand.IntN(12) {
	case 0, 1, 2, 3, 4:
		l.change()
	case 5, 6, 7:
		l.make()
	case 8:
		l.optOut()
	case 9, 10:
		l.note("kill")
		l.cleaner.kill()
		l.whileAway()
		l.start()
	default:
		l.note("stop")
		l.signal(syscall.SIGSTOP)
		l.whileAway()
		l.signal(syscall.SIGCONT)
		l.note("continue")
	}
}

// whileAway lets time pass without the process, with changes or without. A Node that was there for a moment meanwhile may be taken
// for one that had been deleted all the time, when the process was unavailable for less than a lease.
func (l *nodeLife) whileAway() {
	since := time.Now()
	before := make([]int, len(l.machines))
	for i, m := range l.machines {
		before[i] = len(m.here)
	}
	for range l.rand.IntN(4) {
		l.change()
		l.pause(l.rand.IntN(1000))
	}
	l.pause([]int{0, 1000, 3000, 20000}[l.rand.IntN(4)])
	if time.Since(since) > localvolume.Lease+soakMargin {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range l.machines {
		if m.node == nil && before[i] > 0 && !m.here[before[i]-1].to.Before(since) {
			continue // it existed when the process exited
		}
		if m.node == nil {
			m.here = m.here[:before[i]]
		}
	}
}

// make makes a volume of a random form, with a claim or without.
func (l *nodeLife) make() {
	var whole []*soakMachine // no volume has labels that its node does not have
	for _, m := range l.machines {
		if !m.relabelled {
			whole = append(whole, m)
		}
	}
	if len(whole) == 0 {
		return
	}
	l.number++
	first, second := whole[l.rand.IntN(len(whole))], whole[l.rand.IntN(len(whole))]
	v := &soakVolume{machines: []*soakMachine{first}}
	expression := func(key string, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	term := func(expressions ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: expressions}
	}
	host, zone := expression(corev1.LabelHostname, l.ns+"-"+first.host), expression(corev1.LabelTopologyZone, "z")
	other := expression(corev1.LabelHostname, l.ns+"-"+second.host)
	form := l.rand.IntN(8)
	var terms []corev1.NodeSelectorTerm
	switch form {
	case 0:
		terms = append(terms, term(host))
	case 1:
		terms = append(terms, term(zone, host))
	case 2:
		terms = append(terms, term(host), term(host))
	case 3:
		terms = append(terms, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{expression("metadata.name", l.ns+"-"+first.name)}})
	case 4:
		terms = append(terms, term(host), term(other))
		v.machines = append(v.machines, second)
	case 5:
		terms, v.machines = append(terms, term(zone)), nil
	case 6:
		host.Operator = corev1.NodeSelectorOpNotIn
		terms, v.machines = append(terms, term(host)), nil
	default:
		terms, v.machines = append(terms, term(corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpExists})), nil
	}
	v.PersistentVolume = l.volume(fmt.Sprintf("v%d", l.number), "", func(pv *corev1.PersistentVolume) {
		pv.Spec.NodeAffinity.Required.NodeSelectorTerms = terms
		switch l.rand.IntN(4) {
		case 0:
			hostPath(pv)
			if len(v.machines) > 1 && first != second {
				v.machines = nil // such a volume names one node, or none that matters
			}
		case 1:
			pv.Spec.StorageClassName, v.machines = "other", nil
		}
	})
	v.claimed = l.rand.IntN(3) > 0 && v.Spec.StorageClassName == l.class
	l.mu.Lock()
	l.made = append(l.made, v)
	l.mu.Unlock()
	l.note("volume %s, form %d, machines %s and %s, claimed %t: %+v", v.Name, form, first.name, second.name, v.claimed, v.Spec.PersistentVolumeSource)
	if v.claimed {
		l.claimIfLeft(v)
	}
}

// claimIfLeft makes the claim of a volume. When its machines have been deleted the volume may go first, and then no claim is bound
// to it.
func (l *nodeLife) claimIfLeft(v *soakVolume) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: l.ns, Name: v.Name}}
	claim.Spec.VolumeName, claim.Spec.StorageClassName = v.Name, new(v.Spec.StorageClassName)
	claim.Spec.AccessModes, claim.Spec.Resources.Requests = v.Spec.AccessModes, v.Spec.Capacity
	l.create(claim)
}

// optOut sets or removes the annotation of volumes.
func (l *nodeLife) optOut() {
	for _, v := range l.made {
		if l.rand.IntN(4) > 0 {
			continue
		}
		last := len(v.optedOut) - 1
		out := last < 0 || !v.optedOut[last].to.IsZero()
		value := "null"
		if out {
			value = `"` + localvolume.OptOutValue + `"`
		} else {
			l.mu.Lock()
			v.optedOut[last].to = time.Now()
			l.mu.Unlock()
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+localvolume.OptOutAnnotation+`":`+value+`}}}`))
		if err := l.c.Patch(l.t.Context(), v.DeepCopy(), patch); client.IgnoreNotFound(err) != nil {
			l.t.Fatal(err)
		}
		l.note("opt-out of %s: %t", v.Name, out)
		if out {
			l.mu.Lock()
			v.optedOut = append(v.optedOut, presence{from: time.Now()})
			l.mu.Unlock()
		}
	}
}

// judge checks an object that is being deleted: only the process deletes any.
func (l *nodeLife) judge(object client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.made, func(v *soakVolume) bool { return v.Name == object.GetName() })
	if i < 0 {
		return // of an earlier incarnation
	}
	v, at := l.made[i], object.GetDeletionTimestamp().Time // or up to a second later
	what := fmt.Sprintf("%T %s, deleted at %s", object, v.Name, at.Format("04:05"))
	during := func(all []presence) bool {
		return slices.ContainsFunc(all, func(p presence) bool {
			return !p.from.Add(soakMargin).After(at) && (p.to.IsZero() || p.to.After(at.Add(time.Second)))
		})
	}
	if v.machines == nil {
		l.t.Errorf("%s: may not be touched", what)
	}
	if during(v.optedOut) {
		l.t.Errorf("%s: it is opted out", what)
	}
	_, isClaim := object.(*corev1.PersistentVolumeClaim)
	for _, m := range v.machines {
		if during(m.here) {
			l.t.Errorf("%s: the node of %s exists", what, m.name)
		}
		for _, p := range m.here {
			if waited := at.Add(time.Second).Sub(p.to); isClaim && !p.to.IsZero() && waited > 0 && waited < soakDelay {
				l.t.Errorf("%s: the node of %s had left %s before", what, m.name, waited)
			}
		}
	}
}

// settle waits until everything that must go has been deleted.
func (l *nodeLife) settle() {
	l.note("settle")
	for _, m := range l.machines {
		if m.node != nil {
			l.relabel(m, l.ns+"-"+m.host)
		}
	}
	acknowledge := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+localvolume.AcknowledgeAnnotation+`":"1000"}}}`))
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.ns, Name: localvolume.RecordName}}
	eventually(l.t, func(ctx context.Context) error {
		if err := l.c.Patch(ctx, record, acknowledge); client.IgnoreNotFound(err) != nil {
			return err
		}
		for _, v := range l.made {
			if err := l.left(ctx, v); err != nil {
				return err
			}
		}
		return nil
	})
}

// left complains about a volume, or its claim, that must go and is still there. A volume whose node the process never saw
// stays, with an event.
func (l *nodeLife) left(ctx context.Context, v *soakVolume) error {
	if v.machines == nil || slices.ContainsFunc(v.machines, func(m *soakMachine) bool { return m.node != nil }) ||
		len(v.optedOut) > 0 && v.optedOut[len(v.optedOut)-1].to.IsZero() {
		return nil
	}
	volume, claim := &corev1.PersistentVolume{}, &corev1.PersistentVolumeClaim{}
	if err := l.c.Get(ctx, client.ObjectKeyFromObject(v), volume); err != nil {
		return client.IgnoreNotFound(err) // its claim has no volume, if it is there: it is none owned by Groundskeeper
	}
	if err := l.c.Get(ctx, client.ObjectKey{Namespace: l.ns, Name: v.Name}, claim); client.IgnoreNotFound(err) != nil || err == nil {
		return errors.Join(err, fmt.Errorf("claim %s is left: %s", v.Name, claim.Status.Phase))
	}
	events := &corev1.EventList{}
	err := l.c.List(ctx, events, client.InNamespace(metav1.NamespaceDefault), client.MatchingFields{"involvedObject.name": v.Name, "reason": localvolume.EventSkipped})
	if err == nil && len(events.Items) == 0 {
		err = fmt.Errorf("volume %s is left: %s, deleted %v", v.Name, volume.Status.Phase, volume.DeletionTimestamp)
	}
	return err
}
