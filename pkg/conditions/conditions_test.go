// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// Outcomes of a case: the status of Ready, the other condition if there is one, and what kstatus makes of the object.
const (
	ready       = "True Current"
	waiting     = "Unknown Reconciling InProgress"
	progressing = "False Reconciling InProgress"
	stalled     = "False Stalled Failed"
	paused      = "Unknown Stalled Failed"
	// deleting objects are Terminating for kstatus, whatever their conditions are.
	deleting      = "False Reconciling Terminating"
	deletionStuck = "False Stalled Terminating"
)

// outcome reads what a waiting client reads.
func outcome(t *testing.T, list []metav1.Condition, object runtime.Object) string {
	t.Helper()
	var parts []string
	for _, c := range list {
		switch c.Type {
		case conditions.Ready:
			parts = slices.Insert(parts, 0, string(c.Status))
		case conditions.Reconciling, conditions.Stalled:
			if c.Status != metav1.ConditionTrue {
				t.Errorf("condition %s is %s; it exists only while it is True", c.Type, c.Status)
			}
			parts = append(parts, c.Type)
		default:
			continue
		}
		if c.Reason == "" || c.Message == "" {
			t.Errorf("condition %s has reason %q and message %q, want both", c.Type, c.Reason, c.Message)
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(parts, string(result.Status)), " ")
}

// reported are conditions written as Type=Status/Reason, with @ and a generation if it is not 2.
func reported(t *testing.T, texts ...string) []metav1.Condition {
	t.Helper()
	var list []metav1.Condition
	for _, text := range texts {
		c := metav1.Condition{ObservedGeneration: 2, Message: "message of " + text, LastTransitionTime: metav1.NewTime(noon)}
		if before, old := strings.CutSuffix(text, "@1"); old {
			text, c.ObservedGeneration = before, 1
		}
		kind, rest, _ := strings.Cut(text, "=")
		value, reason, _ := strings.Cut(rest, "/")
		c.Type, c.Status, c.Reason = kind, metav1.ConditionStatus(value), reason
		list = append(list, c)
	}
	return list
}

func objectMeta(deleted bool) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: "it", Generation: 2}
	if deleted {
		meta.DeletionTimestamp = &metav1.Time{Time: noon}
	}
	return meta
}

func TestKluster(t *testing.T) {
	for name, tc := range map[string]struct {
		noCloud, announced, deleted bool
		observed                    int64
		conditions                  []string
		want                        string
	}{
		"new":                          {observed: 0, want: waiting},
		"changed":                      {observed: 1, conditions: []string{"APIServerReachable=True/Reachable@1", "OpenStackReachable=True/Reachable@1"}, want: waiting},
		"observed, and not checked":    {observed: 2, conditions: []string{"APIServerReachable=True/Reachable@1", "OpenStackReachable=True/Reachable@1"}, want: waiting},
		"reachable":                    {observed: 2, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Reachable"}, want: ready},
		"cloud not checked":            {observed: 2, conditions: []string{"APIServerReachable=True/Reachable"}, want: waiting},
		"no cloud":                     {observed: 2, noCloud: true, conditions: []string{"APIServerReachable=True/Reachable"}, want: ready},
		"no cluster":                   {observed: 2, conditions: []string{"APIServerReachable=Unknown/NoCredentials", "OpenStackReachable=True/Reachable"}, want: ready},
		"unreachable":                  {observed: 2, conditions: []string{"APIServerReachable=False/Unreachable", "OpenStackReachable=True/Reachable"}, want: progressing},
		"no Secret":                    {observed: 2, conditions: []string{"APIServerReachable=False/SecretMissing", "OpenStackReachable=False/SecretMissing"}, want: stalled},
		"credentials bad, API down":    {observed: 2, conditions: []string{"APIServerReachable=False/Unreachable", "OpenStackReachable=False/CredentialsRefused"}, want: stalled},
		"warned":                       {observed: 2, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Insecure"}, want: ready},
		"permissions missing":          {observed: 2, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Reachable", "ClusterPermissionsGranted=False/PermissionsMissing@1"}, want: stalled},
		"another Kluster of it":        {observed: 2, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Reachable", "ClusterUnique=False/SameCluster@1"}, want: stalled},
		"a backend of it":              {observed: 2, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Reachable", "ClusterUnique=False/SameClusterBackend@1"}, want: ready},
		"its own cluster":              {observed: 2, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Reachable", "ClusterUnique=False/OwnCluster@1"}, want: ready},
		"routes in conflict":           {observed: 2, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Reachable", "RoutesClean=Unknown/CIDRConflict"}, want: stalled},
		"orphans to be removed":        {observed: 2, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Reachable", "RoutesClean=False/ConfirmingOrphans"}, want: ready},
		"to be announced":              {observed: 2, announced: true, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Reachable"}, want: waiting},
		"name of the backend taken":    {observed: 2, announced: true, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Reachable", "Announced=False/NameTaken"}, want: stalled},
		"paused when it was new":       {observed: 0, conditions: []string{"Paused=True/Annotated"}, want: paused},
		"paused when it was ready":     {observed: 2, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Reachable", "Paused=True/Annotated"}, want: ready},
		"deleted":                      {observed: 2, deleted: true, conditions: []string{"APIServerReachable=True/Reachable", "OpenStackReachable=True/Reachable"}, want: deleting},
		"deleted, and cloud exchanged": {observed: 2, deleted: true, conditions: []string{"Deorbited=False/CloudChanged"}, want: deletionStuck},
	} {
		t.Run(name, func(t *testing.T) {
			k := &kubernikusv1.Kluster{ObjectMeta: objectMeta(tc.deleted)}
			k.Spec.NoCloud = tc.noCloud
			if tc.announced {
				k.Spec.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true}
			}
			k.Status.ObservedGeneration, k.Status.Conditions = tc.observed, reported(t, tc.conditions...)
			conditions.SetKluster(k, k.DeepCopy(), noon)
			if got := outcome(t, k.Status.Conditions, k); got != tc.want {
				t.Errorf("outcome = %q, want %q; conditions %+v", got, tc.want, k.Status.Conditions)
			}
		})
	}
}

// TestKlusterWithoutKubeconfig checks that a Kluster that is ready reports what its deletion could not decide.
func TestKlusterWithoutKubeconfig(t *testing.T) {
	named := kubernikusv1.CloudProvider{ClusterName: new("web"), CSIClusterID: new("web")}
	const volumes, balancers = "leaves over its volumes", "load balancers, floating IPs and security groups"
	for name, tc := range map[string]struct {
		reached       string
		change        func(*kubernikusv1.KlusterSpec)
		wants, absent []string
	}{
		"a kubeconfig":           {"True/Reachable", func(*kubernikusv1.KlusterSpec) {}, []string{"nothing requires an action"}, []string{"kubeconfig"}},
		"no cloud":               {"Unknown/NoCredentials", func(s *kubernikusv1.KlusterSpec) { s.NoCloud = true }, []string{"nothing requires an action"}, []string{"kubeconfig"}},
		"no kubeconfig, unnamed": {"Unknown/NoCredentials", func(*kubernikusv1.KlusterSpec) {}, []string{"the Secret has no kubeconfig", volumes, balancers}, nil},
		"no kubeconfig, named":   {"Unknown/NoCredentials", func(s *kubernikusv1.KlusterSpec) { s.CloudProvider = named }, []string{volumes}, []string{balancers}},
		"nothing in doubt": {"Unknown/NoCredentials", func(s *kubernikusv1.KlusterSpec) {
			s.CloudProvider, s.Deorbit.UnseenVolumes = named, kubernikusv1.DeletionPolicyDelete
		}, []string{"does not check the cluster"}, []string{"leaves over"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := &kubernikusv1.Kluster{ObjectMeta: objectMeta(false)}
			tc.change(&k.Spec)
			k.Status.ObservedGeneration = k.Generation
			k.Status.Conditions = reported(t, "APIServerReachable="+tc.reached, "OpenStackReachable=True/Reachable")
			got := conditions.KlusterSummary(k)
			for _, want := range tc.wants {
				if got.Ready != "True" || !strings.Contains(got.Message, want) {
					t.Errorf("summary = %+v, want it to be ready with %q", got, want)
				}
			}
			for _, text := range tc.absent {
				if strings.Contains(got.Message, text) {
					t.Errorf("message = %q, want no %q in it", got.Message, text)
				}
			}
		})
	}
}

func TestDiscoveryBackend(t *testing.T) {
	good := []string{"CredentialsValid=True/Accepted", "Available=True/DiscovererRunning", "Discovered=True/Synced@1"}
	with := func(more ...string) []string { return append(good[:len(good):len(good)], more...) }
	for name, tc := range map[string]struct {
		maintenance, deleted bool
		observed             int64
		conditions           []string
		want                 string
	}{
		"new":                           {observed: 0, want: waiting},
		"changed":                       {observed: 1, conditions: []string{"CredentialsValid=True/Accepted@1", "Available=True/DiscovererRunning@1", "Discovered=True/Synced@1"}, want: waiting},
		"not listed yet":                {observed: 2, conditions: []string{"CredentialsValid=Unknown/NotTried", "Available=True/DiscovererRunning"}, want: waiting},
		"discovered":                    {observed: 2, conditions: good, want: ready},
		"some services not copied":      {observed: 2, conditions: []string{"CredentialsValid=True/Accepted", "Available=True/DiscovererRunning", "Discovered=False/Incomplete"}, want: progressing},
		"no Secret":                     {observed: 2, conditions: []string{"CredentialsValid=False/SecretMissing", "Available=False/DiscovererNotStarted", "Discovered=True/Synced"}, want: stalled},
		"rolling out":                   {observed: 2, conditions: []string{"CredentialsValid=True/Accepted", "Available=True/RollingOut", "Discovered=True/Synced"}, want: progressing},
		"rollout stuck":                 {observed: 2, conditions: []string{"CredentialsValid=True/Accepted", "Available=True/RolloutStuck", "Discovered=True/Synced"}, want: stalled},
		"no image, and no discoverer":   {observed: 2, conditions: []string{"Available=False/NoImage"}, want: stalled},
		"discoverer started manually":   {observed: 2, conditions: []string{"Available=False/NoImage", "Discovered=True/Synced@1"}, want: ready},
		"maintenance requested":         {observed: 2, maintenance: true, conditions: with("Drained=False/Enabled@1"), want: waiting},
		"draining":                      {observed: 2, maintenance: true, conditions: with("Drained=False/Draining"), want: progressing},
		"credentials of another one":    {observed: 2, conditions: []string{"CredentialsValid=False/AnotherCluster", "Available=True/DiscovererRunning", "Discovered=True/Synced@1"}, want: stalled},
		"route rejected":                {observed: 2, maintenance: true, conditions: with("Drained=False/Refused"), want: stalled},
		"drained":                       {observed: 2, maintenance: true, conditions: with("Drained=True/Drained"), want: ready},
		"a Kluster of its cluster":      {observed: 2, conditions: with("ClusterUnique=False/SameClusterKluster"), want: ready},
		"maintenance over":              {observed: 2, conditions: with("Drained=False/Enabled"), want: ready},
		"weights to be restored":        {observed: 2, conditions: with("Drained=True/Drained@1"), want: waiting},
		"being restored":                {observed: 2, conditions: with("Drained=False/Restoring"), want: progressing},
		"never drained, another change": {observed: 2, conditions: with("Drained=False/Enabled@1"), want: ready},
		"deleted":                       {observed: 2, deleted: true, conditions: good, want: deleting},
	} {
		t.Run(name, func(t *testing.T) {
			b := &gimbalv1.DiscoveryBackend{ObjectMeta: objectMeta(tc.deleted)}
			if tc.maintenance {
				b.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
			}
			b.Status.ObservedGeneration, b.Status.Conditions = tc.observed, reported(t, tc.conditions...)
			conditions.SetDiscoveryBackend(b, b.DeepCopy(), noon)
			if got := outcome(t, b.Status.Conditions, b); got != tc.want {
				t.Errorf("outcome = %q, want %q; conditions %+v", got, tc.want, b.Status.Conditions)
			}
		})
	}
}

func TestTranslation(t *testing.T) {
	for name, tc := range map[string]struct {
		deleted    bool
		observed   int64
		conditions []string
		want       string
	}{
		"new":                     {observed: 0, want: waiting},
		"changed":                 {observed: 1, conditions: []string{"Synced=True/Synced@1"}, want: waiting},
		"changed when it stalled": {observed: 1, conditions: []string{"Synced=False/Refused@1", "Stalled=True/Refused@1"}, want: waiting},
		"synced":                  {observed: 2, conditions: []string{"Synced=True/Synced"}, want: ready},
		"waiting":                 {observed: 2, conditions: []string{"Synced=False/Waiting"}, want: progressing},
		"rejected":                {observed: 2, conditions: []string{"Synced=False/Refused", "Stalled=True/Refused"}, want: stalled},
		"deleted":                 {observed: 2, deleted: true, conditions: []string{"Synced=False/Waiting"}, want: deleting},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &midonetv1.Translation{ObjectMeta: objectMeta(tc.deleted)}
			tr.Status.ObservedGeneration, tr.Status.Conditions = tc.observed, reported(t, tc.conditions...)
			conditions.SetTranslation(tr, tr.DeepCopy(), noon)
			if got := outcome(t, tr.Status.Conditions, tr); got != tc.want {
				t.Errorf("outcome = %q, want %q; conditions %+v", got, tc.want, tr.Status.Conditions)
			}
		})
	}
}

// The pusher writes Stalled as it wants it, and compares: changed by the server, it would be written again and again.
func TestStalledOfThePusherIsRetained(t *testing.T) {
	tr := &midonetv1.Translation{ObjectMeta: objectMeta(false)}
	tr.Status.ObservedGeneration, tr.Status.Conditions = 2, reported(t, "Synced=False/Refused", "Stalled=True/Refused")
	before := tr.Status.Conditions[1]
	conditions.SetTranslation(tr, tr.DeepCopy(), noon.Add(time.Hour))
	if diff := cmp.Diff(before, tr.Status.Conditions[1]); diff != "" {
		t.Errorf("condition Stalled (-want +got):\n%s", diff)
	}
}

func TestProject(t *testing.T) {
	for name, tc := range map[string]struct {
		deleted    bool
		observed   int64
		conditions []string
		want       string
	}{
		"new":                       {observed: 0, want: waiting},
		"changed":                   {observed: 1, conditions: []string{"NamespaceReady=True/NamespaceCreated", "RBACReady=True/RolesReconciled"}, want: waiting},
		"reconciled":                {observed: 2, conditions: []string{"NamespaceReady=True/NamespaceCreated", "RBACReady=True/RolesReconciled", "Deletable=False/NamespaceNotEmpty", "Stale=True/Unused"}, want: ready},
		"in use by another Project": {observed: 2, conditions: []string{"NamespaceReady=False/NamespaceInUse", "RBACReady=False/NamespaceMissing"}, want: stalled},
		"namespace terminates":      {observed: 2, conditions: []string{"NamespaceReady=False/NamespaceTerminating", "RBACReady=False/NamespaceMissing"}, want: progressing},
		"roles failed":              {observed: 2, conditions: []string{"NamespaceReady=True/NamespaceCreated", "RBACReady=False/RolesFailed"}, want: progressing},
		"paused when it was new":    {observed: 0, conditions: []string{"Paused=True/PausedByAnnotation"}, want: paused},
		"deleted":                   {observed: 2, deleted: true, conditions: []string{"Deletable=True/NamespaceEmpty"}, want: deleting},
		"deleted, and not empty":    {observed: 2, deleted: true, conditions: []string{"Deletable=False/NamespaceNotEmpty"}, want: deletionStuck},
	} {
		t.Run(name, func(t *testing.T) {
			p := &gardenerv1beta1.Project{ObjectMeta: objectMeta(tc.deleted)}
			p.Status.ObservedGeneration = tc.observed
			for _, c := range reported(t, tc.conditions...) {
				p.Status.Conditions = append(p.Status.Conditions, gardenerv1beta1.Condition{
					Type: gardenerv1beta1.ConditionType(c.Type), Status: gardenerv1beta1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
				})
			}
			conditions.SetProject(p, p.DeepCopy(), noon)
			var list []metav1.Condition
			for _, c := range p.Status.Conditions {
				list = append(list, metav1.Condition{Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message})
			}
			if got := outcome(t, list, p); got != tc.want {
				t.Errorf("outcome = %q, want %q; conditions %+v", got, tc.want, p.Status.Conditions)
			}
		})
	}
}

// An error of the first reconciliation is shown while it is retried: nothing earlier can have had it.
func TestFirstErrorIsShown(t *testing.T) {
	p := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	p.Status.Conditions = []gardenerv1beta1.Condition{{Type: gardenerv1beta1.ProjectNamespaceReady, Status: gardenerv1beta1.ConditionFalse, Reason: "NamespaceFailed", Message: "quota exceeded"}}
	if s := conditions.ProjectSummary(p); !strings.Contains(s.Message, "quota exceeded") || s.Ready != metav1.ConditionUnknown {
		t.Errorf("summary %+v, want Unknown with the error", s)
	}
	p.Generation, p.Status.ObservedGeneration = 3, 1
	if s := conditions.ProjectSummary(p); strings.Contains(s.Message, "quota exceeded") {
		t.Errorf("summary %+v has an error that may be of an earlier generation", s)
	}
}

// Repeated, a summary changes nothing: an update that changes nothing else must not be written.
func TestSummaryIsStable(t *testing.T) {
	k := &kubernikusv1.Kluster{ObjectMeta: objectMeta(false)}
	k.Status.ObservedGeneration, k.Status.Conditions = 2, reported(t, "APIServerReachable=False/Unreachable", "OpenStackReachable=True/Reachable")
	p := &gardenerv1beta1.Project{ObjectMeta: objectMeta(false)}
	conditions.SetKluster(k, k.DeepCopy(), noon)
	conditions.SetProject(p, p.DeepCopy(), noon)
	once, onceProject := k.DeepCopy(), p.DeepCopy()
	conditions.SetKluster(k, k.DeepCopy(), noon.Add(time.Hour))
	conditions.SetProject(p, p.DeepCopy(), noon.Add(time.Hour))
	if diff := cmp.Diff(once, k); diff != "" {
		t.Errorf("Kluster (-once +twice):\n%s", diff)
	}
	if diff := cmp.Diff(onceProject, p); diff != "" {
		t.Errorf("Project (-once +twice):\n%s", diff)
	}
	k.Status.Conditions[0].Status = metav1.ConditionTrue
	conditions.SetKluster(k, k.DeepCopy(), noon.Add(2*time.Hour))
	if at := k.Status.Conditions[2]; at.Type != conditions.Ready || !at.LastTransitionTime.Time.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("condition %+v, want Ready with the time of its change", at)
	}
}

// A client that replaces the list, or changes the times in it, does not change since when an object is ready.
func TestTimesAreKept(t *testing.T) {
	old := &midonetv1.Translation{ObjectMeta: objectMeta(false)}
	old.Status.ObservedGeneration, old.Status.Conditions = 2, reported(t, "Synced=True/Synced")
	conditions.SetTranslation(old, &midonetv1.Translation{}, noon)
	for name, list := range map[string][]metav1.Condition{
		"left out": reported(t, "Synced=True/Synced"),
		"forged":   append(reported(t, "Synced=True/Synced"), metav1.Condition{Type: conditions.Ready, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}),
	} {
		tr := old.DeepCopy()
		tr.Status.Conditions = list
		conditions.SetTranslation(tr, old, noon.Add(time.Hour))
		if diff := cmp.Diff(old.Status.Conditions, tr.Status.Conditions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The object before an update is in the watch cache, and shares its lists with the one that is updated.
func TestSharedListsStay(t *testing.T) {
	shared := append(make([]metav1.Condition, 0, 10), reported(t, "Synced=True/Synced")...)
	shared = append(shared, metav1.Condition{Type: conditions.Ready, Status: metav1.ConditionFalse, Reason: "Waiting", Message: "x"})
	before := append([]metav1.Condition(nil), shared[:5]...)
	tr := &midonetv1.Translation{ObjectMeta: objectMeta(false)}
	tr.Status.ObservedGeneration, tr.Status.Conditions = 2, shared
	conditions.SetTranslation(tr, tr.DeepCopy(), noon)
	if diff := cmp.Diff(before, shared[:5]); diff != "" {
		t.Errorf("the shared array (-want +got):\n%s", diff)
	}
}

func TestFollowing(t *testing.T) {
	early, later, now := metav1.NewTime(noon), metav1.NewTime(noon.Add(time.Hour)), metav1.NewTime(noon.Add(2*time.Hour))
	before := gardenerv1beta1.Condition{Type: gardenerv1beta1.ProjectRBACReady, Status: "False", Reason: "A", Message: "a",
		LastTransitionTime: early, LastUpdateTime: later, Codes: []gardenerv1beta1.ErrorCode{"theirs"}}
	for name, test := range map[string]struct {
		before                  *gardenerv1beta1.Condition
		status, reason, message string
		transition, update      metav1.Time
	}{
		"new":           {nil, "True", "A", "a", now, now},
		"the same":      {&before, "False", "A", "a", early, later},
		"other reason":  {&before, "False", "B", "a", early, now},
		"other message": {&before, "False", "A", "b", early, now},
		"other status":  {&before, "True", "A", "a", now, now},
	} {
		t.Run(name, func(t *testing.T) {
			reported := gardenerv1beta1.Condition{Type: before.Type, Status: gardenerv1beta1.ConditionStatus(test.status), Reason: test.reason,
				Message: test.message, LastTransitionTime: now, LastUpdateTime: now}
			want := reported
			want.LastTransitionTime, want.LastUpdateTime = test.transition, test.update
			if test.before != nil {
				want.Codes = test.before.Codes
			}
			if diff := cmp.Diff(want, conditions.Following(test.before, reported)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
