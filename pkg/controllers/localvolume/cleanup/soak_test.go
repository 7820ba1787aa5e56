// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

const (
	soakDriver = "topolvm.io"
	soakGrace  = 2 * time.Minute
	// stepsPerRound makes 10,000 steps of SOAK=1000, and a cluster lives for maxSteps of them.
	stepsPerRound, maxSteps = 10, 50
	// soakMachines is how many machines there are; the last one never has a Node. The drivers do not run on one of three: its Nodes never
	// have the label of its id.
	soakMachines = 9
	// soakSkew is how far the clock of a process differs from the clock of the API server.
	soakSkew = 30 * time.Second
)

// machine is what a Node stands for. It has one Node at most, which can come back under another name.
type machine struct {
	original, node string
	hostname, id   string
	// bare reports that its Nodes never have the label of its id.
	bare bool
	// labelled reports that its Node has the label of its id.
	labelled bool
	// relabelled reports that its Node has other labels than it had, known that a reconciliation saw it under its original name
	// since volumes use it.
	relabelled, known bool
	// lost is when its Node was deleted last, and lostOriginal when that was the one of the original name.
	lost, lostOriginal time.Time
	// outage is what keeps its Node from working, and renewed when the Lease of the original one was renewed last.
	outage  outage
	renewed time.Time
}

// soakVolume is a volume as its user sees it.
type soakVolume struct {
	name, class, source string
	form                int
	machines            []*machine
	claim               bool
	// seen are the machines that a reconciliation saw while the volume was there.
	seen map[*machine]bool
	// free is since when no claim has it.
	free time.Time
}

// soak is a cluster with a random life, and a process that cleans up in it.
type soak struct {
	*bench
	rand     *rand.Rand
	deleter  *volumeDeleter
	machines []*machine
	volumes  map[string]*soakVolume
	number   int
	// running reports that the process runs; while it is stopped, events wait.
	running bool
	waiting []func()
	log     []string
}

func soakConfig(c *configv1alpha1.LocalVolumeConfiguration) {
	c.StorageClassNames = []string{"local", "fast"}
	c.NodeTopologyKeys = []string{corev1.LabelHostname, nodeID}
	c.VolumeSources = []configv1alpha1.VolumeSource{configv1alpha1.VolumeSourceLocal, configv1alpha1.VolumeSourceHostPath}
	c.CSIDrivers = []configv1alpha1.CSIDriver{{Name: soakDriver, TopologyKey: nodeID}}
	c.DriverGracePeriod = &metav1.Duration{Duration: soakGrace}
	c.ReleaseCSIVolumes = new(true)
	c.OutOfServiceNodes, c.UnreachableNodeDelay = new(true), &metav1.Duration{Duration: soakUnreachable}
	c.ProofOfLife = new(true)
}

// TestSoak lets nodes live at random: deletion, return, registration under another name, relabelling, flapping; labels of drivers on some nodes
// only; Nodes that are out of service or unreachable, and machines that live without a Node; twelve forms of affinity, three classes, all
// sources, opt-outs, processes whose clocks differ from that of the API server, and that are killed, stopped, or suspended with their
// machine, with and without changes meanwhile. Nothing is deleted that must stay, and nothing stays that must go.
func TestSoak(t *testing.T) {
	rounds, seed := 10, uint64(32)
	if n, ok := soaktest.Requested(t); ok {
		rounds, seed = n, uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for steps := rounds * stepsPerRound; steps > 0 && !t.Failed(); steps -= maxSteps {
		runSoak(t, random, min(steps, maxSteps))
	}
}

func runSoak(t *testing.T, random *rand.Rand, steps int) {
	t.Helper()
	s := &soak{bench: newBench(t, soakConfig), rand: random, volumes: map[string]*soakVolume{}, running: true}
	s.moveClock()
	s.start()
	var judging sync.Mutex // several deletions are under way concurrently
	s.Intercept = func(request string) error {
		judging.Lock()
		defer judging.Unlock()
		s.judge(request)
		return nil
	}
	s.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	for i := range soakMachines {
		m := &machine{original: fmt.Sprintf("n%d", i), hostname: fmt.Sprintf("host-%d", i), id: fmt.Sprintf("id-%d", i)}
		if i%2 == 0 {
			m.hostname = m.original
		}
		m.bare = i%3 == 1
		s.machines = append(s.machines, m)
		if i < soakMachines-1 {
			s.register(m, m.original, true)
		}
	}
	// A Node that the drivers do not run on, and that is older than all others, is not in doubt.
	plain := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "plain", Labels: map[string]string{corev1.LabelHostname: "plain"},
		CreationTimestamp: metav1.NewTime(s.now().Add(-time.Hour))}}
	s.Add(plain)
	s.Site.Inventory.SetNode(plain)
	for range 8 {
		s.makeVolume()
	}
	for range steps {
		s.step()
		s.passes(1 + s.rand.IntN(7))
		if t.Failed() {
			break
		}
	}
	if !t.Failed() {
		s.settle()
	}
	if t.Failed() {
		t.Logf("what happened:\n%s", strings.Join(s.log, "\n"))
	}
}

// now is the time of the API server.
func (s *soak) now() time.Time { return s.Clock.Now().Add(-s.Ahead) }

// moveClock gives the next process another clock.
func (s *soak) moveClock() {
	now := s.now()
	s.Ahead = time.Duration(s.rand.Int64N(int64(2*soakSkew))) - soakSkew
	s.Clock.SetTime(now.Add(s.Ahead))
	s.note("the clock of the process is %s ahead", s.Ahead)
}

func (s *soak) note(format string, args ...any) {
	s.log = append(s.log, s.now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

// start makes the controllers of the current Site.
func (s *soak) start() {
	s.T.Helper()
	s.r = newReconciler(s.Site)
	s.deleter = newDeleter(s.Site)
}

// event reports a change of a Node to the process, when it runs.
func (s *soak) event(report func()) {
	if s.running {
		report()
		return
	}
	s.waiting = append(s.waiting, report)
}

// register makes the Node of a machine.
func (s *soak) register(m *machine, name string, labelled bool) {
	s.T.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: m.hostname}}}
	node.CreationTimestamp = metav1.NewTime(s.now())
	if labelled = labelled && !m.bare; labelled {
		node.Labels[nodeID] = m.id
	}
	s.note("register %s, labels %v", name, node.Labels)
	m.node, m.labelled, m.outage = name, labelled, outage{}
	s.Add(node)
	s.event(func() { s.Site.Inventory.SetNode(node) })
}

func (s *soak) unregister(m *machine) {
	s.T.Helper()
	name := m.node
	s.note("delete node %s", name)
	if err := s.Store.Delete(s.T.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		s.T.Fatal(err)
	}
	if since, is := m.away(s.now()); is { // it was lost before
		m.lost = since
	} else {
		m.lost = s.now()
	}
	m.node, m.relabelled = "", false
	if name == m.original {
		m.lostOriginal = m.lost
	}
	s.event(func() { s.Site.Inventory.RemoveNode(name) })
}

func (s *soak) relabel(m *machine, labels map[string]string) {
	s.T.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.node}}
	localvolumetest.Change(s.World, node, func(node *corev1.Node) {
		for key, value := range labels {
			if node.Labels[key] = value; value == "" {
				delete(node.Labels, key)
			}
		}
	})
	s.note("label node %s: %v", m.node, labels)
	s.event(func() { s.Site.Inventory.SetNode(node) })
}

// labels returns the labels that the Node of a machine should have.
func (m *machine) labels() map[string]string {
	if m.bare {
		return map[string]string{corev1.LabelHostname: m.hostname}
	}
	return map[string]string{corev1.LabelHostname: m.hostname, nodeID: m.id}
}

// change is a random change of a node.
func (s *soak) change() {
	m := s.machines[s.rand.IntN(soakMachines-1)]
	if _, away := m.originalAway(s.now()); away && s.rand.IntN(4) == 0 {
		s.renew(m)
		return
	}
	if m.node == "" {
		switch name := m.original; s.rand.IntN(4) {
		case 0: // under another name; the label that identifies the machine may be set later
			s.number++
			s.register(m, fmt.Sprintf("%s-again-%d", name, s.number), s.rand.IntN(2) == 0)
		default:
			s.register(m, name, s.rand.IntN(3) > 0)
		}
		return
	}
	switch s.rand.IntN(9) {
	case 6, 7, 8:
		s.changeOutage(m)
	case 0, 1, 2:
		s.unregister(m)
	case 3:
		if !m.known || m.node != m.original {
			return // that it had its labels is nowhere written down
		}
		s.number++
		m.relabelled, m.labelled = true, false
		s.relabel(m, map[string]string{corev1.LabelHostname: fmt.Sprintf("other-%d", s.number), nodeID: ""})
	case 4:
		m.relabelled, m.labelled = false, !m.bare
		s.relabel(m, m.labels())
	default: // flaps
		name := m.node
		s.unregister(m)
		s.register(m, name, true)
	}
}

// step is a random step.
func (s *soak) step() {
	s.T.Helper()
	switch s.rand.IntN(12) {
	case 0, 1, 2, 3, 4:
		s.change()
	case 5, 6:
		s.makeVolume()
	case 7:
		s.optOut()
	case 8, 9: // SIGKILL
		s.note("kill")
		s.running = false
		s.whileAway(s.Clock.Step)
		s.running, s.waiting = true, nil
		s.note("start")
		s.moveClock()
		s.Restart(soakConfig)
		s.start()
	case 10: // stopped, and the watches continue where they were
		s.running = false
		s.whileAway(s.stop())
		s.running = true
		if s.rand.IntN(2) == 0 {
			s.pass() // before any event comes
		}
		s.note("continue")
		for _, report := range s.waiting {
			report()
		}
		s.waiting = nil
	default: // stopped, and the watches are too old: the process sees only what there is now
		s.running = false
		before := s.nodeNames()
		s.whileAway(s.stop())
		s.running, s.waiting = true, nil
		if s.rand.IntN(2) == 0 {
			s.pass()
		}
		s.note("continue with a list")
		nodes := &corev1.NodeList{}
		if err := s.Store.List(s.T.Context(), nodes); err != nil {
			s.T.Fatal(err)
		}
		now := s.nodeNames()
		for i := range nodes.Items {
			s.Site.Inventory.SetNode(&nodes.Items[i])
		}
		for _, name := range before {
			if !slices.Contains(now, name) {
				s.Site.Inventory.RemoveMissedNode(name)
			}
		}
	}
}

func (s *soak) nodeNames() (names []string) {
	for _, m := range s.machines {
		if m.node != "" {
			names = append(names, m.node)
		}
	}
	return names
}

// stop returns how time passes for a process that is stopped: by SIGSTOP, or with its machine, whose clock stands still.
func (s *soak) stop() func(time.Duration) {
	if s.rand.IntN(2) == 0 {
		s.note("stop")
		return s.Clock.Step
	}
	s.note("suspend")
	return func(d time.Duration) { s.Ahead -= d }
}

// whileAway lets time pass without the process, with changes or without. A Node that had been deleted before, and was there for a
// moment within less than a lease, may be taken for one that had been deleted all the time.
func (s *soak) whileAway(pass func(time.Duration)) {
	since, before := s.now(), map[*machine]machine{}
	for _, m := range s.machines {
		before[m] = *m
	}
	for range s.rand.IntN(4) {
		pass(time.Duration(s.rand.IntN(5)) * time.Second)
		s.change()
	}
	pass([]time.Duration{0, time.Second, 14 * time.Second, 16 * time.Second, 70 * time.Second}[s.rand.IntN(5)])
	if s.now().Sub(since) >= localvolume.Lease {
		return
	}
	for m, was := range before {
		for _, away := range []func(*machine, time.Time) (time.Time, bool){(*machine).away, (*machine).originalAway} {
			lost, wasAway := away(&was, since)
			if _, is := away(m, s.now()); !wasAway || !is {
				continue
			}
			switch {
			case m.node == "":
				m.lost, m.lostOriginal = lost, lost
			case m.node != m.original:
				m.lostOriginal = lost
			case !m.outage.tainted.IsZero():
				m.outage.tainted = lost
			}
		}
	}
}

// optOut sets or removes the annotation of a volume.
func (s *soak) optOut() {
	for _, name := range slices.Sorted(maps.Keys(s.volumes)) {
		volume := localvolumetest.Volume(name, "")
		if s.rand.IntN(4) == 0 && s.Exists(volume) {
			localvolumetest.Change(s.World, volume, func(v *corev1.PersistentVolume) {
				if len(v.Annotations) > 0 {
					v.Annotations = nil
				} else {
					v.Annotations = map[string]string{localvolume.OptOutAnnotation: localvolume.OptOutValue}
				}
				s.note("annotations of %s: %v", name, v.Annotations)
			})
		}
	}
}

// pass is what Kubernetes does, and a reconciliation of both controllers.
func (s *soak) pass() {
	s.T.Helper()
	for _, name := range slices.Sorted(maps.Keys(s.volumes)) {
		v := s.volumes[name]
		if v.claim && !s.Exists(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}) {
			v.claim, v.free = false, s.now()
			if s.Exists(localvolumetest.Volume(name, "")) {
				s.SetPhase(name, corev1.VolumeReleased)
			}
		}
	}
	s.Sync()
	for _, reconcile := range []func() error{
		func() error { _, err := s.r.Reconcile(s.T.Context(), localvolume.Pass{}); return err },
		func() error { _, err := s.deleter.Reconcile(s.T.Context(), localvolume.Pass{}); return err },
	} {
		if err := reconcile(); err != nil {
			s.T.Fatal(err)
		}
	}
	for _, m := range s.machines {
		_, away := m.away(s.now())
		m.known = m.node == m.original && !away && !m.relabelled || m.known
	}
}

// passes lets time pass, with passes, while nothing else changes.
func (s *soak) passes(n int) {
	s.T.Helper()
	for range n {
		s.Sleep(time.Duration(1+s.rand.IntN(12)) * time.Second)
		s.pass()
		for _, v := range s.volumes {
			for _, m := range v.machines {
				if _, away := m.away(s.now()); m.node == m.original && !away && (m.labelled || m.bare) {
					v.seen[m] = true
				}
			}
		}
	}
}
