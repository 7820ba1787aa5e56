// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

var epoch = time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)

// world are the objects of a Cluster that is maintained.
type world struct {
	observed
	settings settings
}

func newWorld(changes ...func(*world)) *world {
	w := &world{settings: settings{drainTimeout: 30 * time.Minute}}
	w.cluster = &desired.Cluster{
		Namespace: klustertest.Namespace, Name: "web", UID: "u1", ResourceVersion: "1", Selection: desired.Selected, PodRanges: []string{"192.168.0.0/16"},
		Infrastructure: desired.Reference{Group: desired.InfrastructureGroup, Kind: desired.KindOpenStackCluster, Name: "web-os"},
	}
	w.infrastructure = &desired.Infrastructure{
		Namespace: klustertest.Namespace, Name: "web-os", UID: "i1", ResourceVersion: "1", Cluster: "web", ClusterUID: "u1", Finalized: true,
		Identity: desired.Identity{Type: "Secret", Name: "web-cloud-config", CloudName: "openstack"},
		Network:  "11111111-1111-4111-8111-111111111111", Router: "33333333-3333-4333-8333-333333333333",
	}
	w.machines = []*desired.Machine{{Namespace: klustertest.Namespace, Name: "cp", Cluster: "web", Held: true}, {Namespace: klustertest.Namespace, Name: "worker", Cluster: "web", Held: true}}
	w.kluster = desired.Source{Cluster: w.cluster, Infrastructure: w.infrastructure}.New()
	w.kluster.UID, w.kluster.Generation = "k1", 1
	w.kluster.Finalizers = append(w.kluster.Finalizers, kubernikusv1.DeorbiterFinalizer)
	for _, change := range changes {
		change(w)
	}
	return w
}

func unregistered(w *world) {
	if w.kluster = nil; w.infrastructure != nil {
		w.infrastructure.Finalized = false
	}
	for _, m := range w.machines {
		m.Held = false
	}
}

// undiscovered is a Cluster with a topology, and a Machine without a hook, for which Cluster API does not call the Runtime Extension.
func undiscovered(w *world) {
	w.settings.extension, w.cluster.HasTopology, w.unregistered, w.machines[1].Held = true, true, true, false
}

func deleting(w *world) { w.cluster.Deleting, w.cluster.DeletedAt = true, epoch.Add(-time.Minute) }

// elsewhere is a Cluster on another infrastructure than OpenStack.
func elsewhere(w *world) {
	w.cluster.Infrastructure.Kind, w.infrastructure = "DockerCluster", nil
	if w.kluster != nil {
		finalizers := w.kluster.Finalizers
		w.kluster = desired.Source{Cluster: w.cluster}.New()
		w.kluster.UID, w.kluster.Generation, w.kluster.Finalizers = "k1", 1, finalizers
	}
}

func noKubeconfig(w *world) {
	w.kluster.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionAPIServerReachable, Status: metav1.ConditionFalse, Reason: "SecretMissing"}}
}

func prepared(status, reason string) func(*world) {
	return func(w *world) {
		w.cluster.Prepared = &desired.Condition{Type: desired.ConditionPrepared, Status: status, Reason: reason}
	}
}

func newPlan(w *world) plan { return decide(w.observed, w.settings, epoch) }

func neverUp(w *world) { w.cluster.NeverInitialized, w.unjoined = true, true }

func noMachines(w *world) { w.machines = nil }

// at returns a Kluster that has been deorbited for a time.
func at(stage kubernikusv1.DeorbitStage, since time.Duration) func(*world) {
	return func(w *world) {
		began := metav1.NewTime(epoch.Add(-since))
		w.kluster.DeletionTimestamp = &began
		w.kluster.Status.Deorbit = &kubernikusv1.DeorbitStatus{Stage: stage, StartedAt: &began}
		w.kluster.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionDeorbited, Status: metav1.ConditionFalse, Reason: string(stage), Message: "2 remain"}}
		annotate(w.kluster, kubernikusv1.MachinesAnnotation, kubernikusv1.MachinesPresent)
		annotate(w.kluster, "confirmation.gardener.cloud/deletion", "true")
	}
}

// released returns a Kluster whose Deorbit is over.
func released(reason string) func(*world) {
	return func(w *world) {
		at(kubernikusv1.DeorbitRelease, time.Hour)(w)
		w.kluster.Finalizers = []string{kubernikusv1.ClusterAPIFinalizer}
		w.kluster.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionDeorbited, Status: metav1.ConditionTrue, Reason: reason, Message: "the end"}}
	}
}

func annotate(k *kubernikusv1.Kluster, name, value string) {
	metav1.SetMetaDataAnnotation(&k.ObjectMeta, name, value)
}

func completed(status, reason, message string) func(*world) {
	return func(w *world) {
		w.cluster.Completed = &desired.Condition{Type: desired.ConditionCompleted, Status: status, Reason: reason, Message: message}
	}
}

func waiting(w *world) { w.infrastructure.Paused, w.infrastructure.PausedForDeorbit = true, true }

// summary returns what a plan writes, in its order.
func summary(p plan) string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if p.create != nil {
		add("create")
	}
	if p.update != nil {
		state := ""
		for _, each := range []struct{ name, annotation string }{
			{"detach", kubernikusv1.DetachAnnotation}, {"paused", "groundskeeper.io/paused"}, {"machines", kubernikusv1.MachinesAnnotation}, {"plane", kubernikusv1.ControlPlaneAnnotation}, {"confirmed", "confirmation.gardener.cloud/deletion"},
		} {
			if value, ok := p.update.Annotations[each.annotation]; ok {
				state += " " + each.name + "=" + value
			}
		}
		add("update%s", state)
	}
	if p.completed != nil {
		add("completed=%s/%s", p.completed.Status, p.completed.Reason)
	}
	if p.prepared != nil {
		add("prepared=%s/%s", p.prepared.Status, p.prepared.Reason)
	}
	if p.holds != nil {
		add("holds=%t,%t", p.holds.finalizer, p.holds.paused)
	}
	for _, name := range slices.Sorted(maps.Keys(p.hooks)) {
		add("%s=%t", name, p.hooks[name])
	}
	if p.deletes {
		add("delete")
	}
	if p.finishes {
		add("finish")
	}
	if p.rejection.Reason != "" {
		add("rejection=%s", p.rejection.Reason)
	}
	if p.again > 0 {
		add("again=%s", p.again)
	}
	return strings.Join(all, "; ")
}

func TestDecide(t *testing.T) {
	detached := "update detach=true confirmed=true; delete"
	for name, test := range map[string]struct {
		changes []func(*world)
		want    string
	}{
		// A Cluster that lives.
		"in sync":                             {nil, ""},
		"new":                                 {[]func(*world){unregistered}, "create; holds=true,false; cp=true; worker=true"},
		"no network yet":                      {[]func(*world){unregistered, func(w *world) { w.infrastructure.Network = "" }}, "prepared=False/InfrastructurePending; rejection=InfrastructurePending"},
		"no infrastructure yet":               {[]func(*world){unregistered, func(w *world) { w.infrastructure = nil }}, "prepared=False/InfrastructurePending; rejection=InfrastructurePending"},
		"by its namespace":                    {[]func(*world){unregistered, func(w *world) { w.cluster.Selection, w.settings.namespaces = "", []string{klustertest.Namespace} }}, "create; holds=true,false; cp=true; worker=true"},
		"not selected":                        {[]func(*world){unregistered, func(w *world) { w.cluster.Selection = "" }}, ""},
		"deselected in its namespace":         {[]func(*world){unregistered, func(w *world) { w.cluster.Selection, w.settings.namespaces = "false", []string{klustertest.Namespace} }}, ""},
		"elsewhere, new":                      {[]func(*world){unregistered, elsewhere}, "create; cp=true; worker=true"},
		"elsewhere, without pod ranges":       {[]func(*world){unregistered, elsewhere, func(w *world) { w.cluster.PodRanges = nil }}, "create; cp=true; worker=true"},
		"a kind of another group":             {[]func(*world){unregistered, func(w *world) { w.cluster.Infrastructure.Group, w.infrastructure = "example.com", nil }}, "create; cp=true; worker=true"},
		"elsewhere, in sync":                  {[]func(*world){elsewhere}, ""},
		"elsewhere, running without Machines": {[]func(*world){elsewhere, noMachines, func(w *world) { w.cluster.Initialized = true }}, "prepared=False/NoMachines; rejection=NoMachines"},
		"elsewhere, retained by the hook": {[]func(*world){elsewhere, noMachines, func(w *world) {
			w.cluster.Initialized, w.cluster.HasTopology, w.settings.extension = true, true, true
		}}, ""},
		"elsewhere, not selected":           {[]func(*world){unregistered, elsewhere, func(w *world) { w.cluster.Selection = "" }}, ""},
		"paused and new":                    {[]func(*world){unregistered, func(w *world) { w.cluster.Paused = true }}, ""},
		"a Machine more":                    {[]func(*world){func(w *world) { w.machines[1].Held = false }}, "worker=true"},
		"a Machine is replaced":             {[]func(*world){func(w *world) { w.machines[1].Deleting = true }}, "worker=false"},
		"a Machine without hook is deleted": {[]func(*world){func(w *world) { w.machines[1].Deleting, w.machines[1].Held = true, false }}, ""},
		"the extension holds a topology":    {[]func(*world){func(w *world) { w.settings.extension, w.cluster.HasTopology = true, true }}, "cp=false; worker=false"},
		"the extension is not registered":   {[]func(*world){undiscovered}, "prepared=False/HookMissing; worker=true; rejection=HookMissing"},
		"the extension, without topology":   {[]func(*world){func(w *world) { w.settings.extension = true }}, ""},
		"the finalizer was removed":         {[]func(*world){func(w *world) { w.infrastructure.Finalized = false }}, "holds=true,false"},
		"a pause by Groundskeeper":          {[]func(*world){waiting}, "holds=true,false"},
		"a pause of a user":                 {[]func(*world){func(w *world) { w.infrastructure.Paused = true }}, ""},
		"an edited Kluster":                 {[]func(*world){func(w *world) { w.kluster.Spec.CustomCNI = true }}, "update"},
		"a Kluster of a user":               {[]func(*world){func(w *world) { delete(w.kluster.Annotations, kubernikusv1.ClusterAPIUIDAnnotation) }}, "prepared=False/NameTaken; holds=false,false; cp=false; worker=false; rejection=NameTaken"},
		"a Kluster deleted by a user":       {[]func(*world){at(kubernikusv1.DeorbitPods, time.Hour), func(w *world) { w.machines[0].Held = false }}, ""},
		"and released":                      {[]func(*world){released("Deorbited")}, "finish"},
		"the network is lost":               {[]func(*world){func(w *world) { w.infrastructure.Network = "" }}, "prepared=False/InfrastructurePending; rejection=InfrastructurePending"},

		// Why a Cluster is not prepared. One that never had a reason has no condition.
		"elsewhere, by its namespace": {[]func(*world){unregistered, func(w *world) {
			w.cluster.Selection, w.settings.namespaces, w.cluster.Infrastructure.Kind, w.infrastructure = "", []string{klustertest.Namespace}, "DockerCluster", nil
		}}, "create; cp=true; worker=true"},
		"no kubeconfig yet": {[]func(*world){noKubeconfig, neverUp}, "prepared=False/KubeconfigMissing"},
		"no kubeconfig":     {[]func(*world){noKubeconfig}, "prepared=False/KubeconfigMissing; rejection=KubeconfigMissing"},
		"no kubeconfig, and that is reported": {[]func(*world){noKubeconfig, func(w *world) {
			w.cluster.Prepared = newPlan(w).prepared
		}}, "rejection=KubeconfigMissing"},
		"prepared":                      {[]func(*world){prepared("False", "KubeconfigMissing")}, "prepared=True/Prepared"},
		"not selected any more":         {[]func(*world){unregistered, prepared("False", "Forbidden"), func(w *world) { w.cluster.Selection = "" }}, "prepared=False/NotSelected"},
		"not prepared, and deleted":     {[]func(*world){deleting, noKubeconfig}, "update machines=Present confirmed=true; completed=False/Deleting; holds=true,true; delete"},
		"not prepared, and it is moved": {[]func(*world){noKubeconfig, func(w *world) { w.cluster.Moved = true }}, detached},
		"not prepared, and paused":      {[]func(*world){noKubeconfig, func(w *world) { w.cluster.Paused = true }}, "update paused=true"},

		// Objects in a form that is unknown.
		"an unreadable Cluster":        {[]func(*world){func(w *world) { w.cluster.Invalid = fmt.Errorf("no") }}, "rejection=Unreadable"},
		"an unreadable infrastructure": {[]func(*world){deleting, func(w *world) { w.infrastructure.Invalid = fmt.Errorf("no") }}, "rejection=Unreadable"},

		// Nothing is deleted of a Cluster that was moved, removed by force, deselected or replaced.
		"missing":                      {[]func(*world){func(w *world) { w.cluster, w.infrastructure, w.machines = nil, nil, nil }}, detached},
		"missing during Deorbit":       {[]func(*world){at(kubernikusv1.DeorbitPods, time.Minute), func(w *world) { w.cluster, w.infrastructure, w.machines = nil, nil, nil }}, "update detach=true confirmed=true"},
		"missing, released":            {[]func(*world){released("Deorbited"), func(w *world) { w.cluster = nil }}, "finish"},
		"missing, a Kluster of a user": {[]func(*world){func(w *world) { w.cluster = nil; delete(w.kluster.Annotations, kubernikusv1.ClusterAPIUIDAnnotation) }}, ""},
		"nothing at all":               {[]func(*world){func(w *world) { w.cluster, w.infrastructure, w.machines, w.kluster = nil, nil, nil, nil }}, ""},
		"moved":                        {[]func(*world){deleting, func(w *world) { w.cluster.Moved, w.cluster.Paused = true, true }}, detached},
		"moved, and its pause is lost": {[]func(*world){deleting, func(w *world) { w.cluster.Moved = true }}, detached},
		"moved while it is paused": {[]func(*world){deleting, func(w *world) {
			w.cluster.Moved = true
			annotate(w.kluster, "groundskeeper.io/paused", "true")
			annotate(w.kluster, kubernikusv1.PausedWithClusterAnnotation, "true")
		}}, detached},
		"another of the same name":  {[]func(*world){func(w *world) { w.cluster.UID = "u2" }}, detached},
		"another is deleted":        {[]func(*world){deleting, func(w *world) { w.cluster.UID = "u2" }}, detached},
		"deselected":                {[]func(*world){func(w *world) { w.cluster.Selection = "false" }}, "update detach=true confirmed=true; holds=false,false; cp=false; worker=false; delete"},
		"deselected during Deorbit": {[]func(*world){deleting, waiting, at(kubernikusv1.DeorbitPods, time.Minute), func(w *world) { w.cluster.Selection = "false" }}, "update detach=true confirmed=true; holds=false,false; cp=false; worker=false"},
		"detached already": {[]func(*world){at(kubernikusv1.DeorbitPods, time.Minute), func(w *world) {
			w.cluster = nil
			annotate(w.kluster, kubernikusv1.DetachAnnotation, "true")
			delete(w.kluster.Annotations, kubernikusv1.MachinesAnnotation)
		}}, ""},

		// So it is when the definition of Clusters is deleted, and every Cluster with it. A Deorbit that has begun is completed.
		"dismantled":               {[]func(*world){deleting, func(w *world) { w.dismantled = true }}, "rejection=ClustersDismantled"},
		"dismantled and new":       {[]func(*world){unregistered, deleting, func(w *world) { w.dismantled = true }}, "rejection=ClustersDismantled"},
		"dismantled and forged":    {[]func(*world){deleting, completed("True", "Deorbited", "the end"), func(w *world) { w.dismantled = true }}, "rejection=ClustersDismantled"},
		"dismantled in Deorbit":    {[]func(*world){deleting, waiting, at(kubernikusv1.DeorbitPods, time.Minute), completed("False", "Pods", "2 remain"), func(w *world) { w.dismantled = true }}, "again=29m0s"},
		"dismantled, and moved":    {[]func(*world){deleting, func(w *world) { w.dismantled, w.cluster.Moved = true, true }}, detached},
		"dismantled when it ended": {[]func(*world){deleting, noMachines, waiting, completed("True", "Deorbited", "the end"), func(w *world) { w.dismantled, w.kluster = true, nil }}, "holds=false,false"},

		// A pause.
		"paused":                {[]func(*world){func(w *world) { w.cluster.Paused = true }}, "update paused=true"},
		"paused and deleted":    {[]func(*world){deleting, func(w *world) { w.cluster.Paused = true }}, "update paused=true"},
		"paused during Deorbit": {[]func(*world){deleting, waiting, at(kubernikusv1.DeorbitVerify, time.Hour), func(w *world) { w.cluster.Paused = true }}, "update paused=true machines=Present confirmed=true"},
		"paused by a user":      {[]func(*world){func(w *world) { w.cluster.Paused = true; annotate(w.kluster, "groundskeeper.io/paused", "true") }}, ""},
		"paused, a Machine is deleted": {[]func(*world){func(w *world) {
			w.cluster.Paused = true
			w.machines[0].Deleting = true
			annotate(w.kluster, "groundskeeper.io/paused", "true")
		}}, ""},
		"resumed": {[]func(*world){func(w *world) {
			annotate(w.kluster, "groundskeeper.io/paused", "true")
			annotate(w.kluster, kubernikusv1.PausedWithClusterAnnotation, "true")
		}}, "update"},
		"not resumed for a user":     {[]func(*world){func(w *world) { annotate(w.kluster, "groundskeeper.io/paused", "true") }}, ""},
		"the end waits in the pause": {[]func(*world){deleting, released("Deorbited"), func(w *world) { w.cluster.Paused = true }}, ""},

		// Phase 1: the machines are retained until Deorbit has emptied the cluster.
		"deleted":              {[]func(*world){deleting}, "update machines=Present confirmed=true; completed=False/Deleting; holds=true,true; delete"},
		"deleted, first hooks": {[]func(*world){deleting, func(w *world) { w.machines[0].Held = false }}, "update machines=Present confirmed=true; completed=False/Deleting; holds=true,true; cp=true; delete"},
		"deleted, but protected": {[]func(*world){deleting, func(w *world) { annotate(w.kluster, kubernikusv1.TerminationProtectionAnnotation, "true") }},
			"update machines=Present confirmed=true; completed=False/TerminationProtected; holds=true,true; delete"},
		"a stage":                  {[]func(*world){deleting, waiting, at(kubernikusv1.DeorbitPods, time.Minute), func(w *world) { w.machines[0].Deleting = true }}, "completed=False/Pods; again=29m0s"},
		"a stage that is reported": {[]func(*world){deleting, waiting, at(kubernikusv1.DeorbitPods, time.Minute), completed("False", "Pods", "2 remain")}, "again=29m0s"},
		"the cluster is empty":     {[]func(*world){deleting, waiting, at(kubernikusv1.DeorbitMachines, time.Minute), completed("False", "Machines", "2 remain")}, "cp=false; worker=false"},
		"it takes too long":        {[]func(*world){deleting, waiting, at(kubernikusv1.DeorbitClaims, 30*time.Minute), completed("False", "Claims", "2 remain")}, "cp=false; worker=false"},
		"Deorbit does not begin":   {[]func(*world){deleting, waiting, at("", 31*time.Minute), completed("False", "", "2 remain"), func(w *world) { w.kluster.Status.Deorbit = nil }}, "cp=false; worker=false"},
		"paused for long":          {[]func(*world){deleting, waiting, at(kubernikusv1.DeorbitClaims, time.Hour), completed("False", "Claims", "2 remain"), func(w *world) { annotate(w.kluster, "groundskeeper.io/paused", "true") }}, ""},
		"protected":                {[]func(*world){deleting, waiting, at(kubernikusv1.DeorbitClaims, time.Hour), completed("False", "Claims", "2 remain"), func(w *world) { annotate(w.kluster, kubernikusv1.TerminationProtectionAnnotation, "true") }}, ""},
		"the extension, deleted":   {[]func(*world){deleting, func(w *world) { w.settings.extension, w.cluster.HasTopology = true, true }, func(w *world) { w.machines[1].Held = false }}, "update machines=Present confirmed=true; completed=False/Deleting; holds=true,true; worker=true; delete"},
		"no extension, deleted":    {[]func(*world){deleting, undiscovered}, "update machines=Present confirmed=true; completed=False/Deleting; holds=true,true; worker=true; delete"},
		"no extension, new":        {[]func(*world){unregistered, deleting, undiscovered}, "create; holds=true,true; cp=true; worker=true"},
		"resumed, deleted": {[]func(*world){deleting, waiting, at(kubernikusv1.DeorbitPods, time.Minute), completed("False", "Pods", "2 remain"), func(w *world) {
			annotate(w.kluster, "groundskeeper.io/paused", "true")
			annotate(w.kluster, kubernikusv1.PausedWithClusterAnnotation, "true")
		}}, "update machines=Present confirmed=true"},
		"the infrastructure is deleted as well": {[]func(*world){deleting, func(w *world) { w.infrastructure.Deleting, w.infrastructure.Finalized = true, false }}, "update machines=Present confirmed=true; completed=False/Deleting; holds=false,true; delete"},
		"and is paused by a user":               {[]func(*world){deleting, func(w *world) { w.infrastructure.Paused = true }}, "update machines=Present confirmed=true; completed=False/Deleting; delete"},

		// Adoption of a Cluster that is being deleted.
		"deleted before it was known":     {[]func(*world){unregistered, deleting}, "create; holds=true,true; cp=true; worker=true"},
		"deleted before it had a network": {[]func(*world){unregistered, deleting, func(w *world) { w.infrastructure.Network = "" }}, "completed=True/NotDeorbited; rejection=InfrastructurePending"},
		"deleted, and nothing is left":    {[]func(*world){unregistered, deleting, noMachines, func(w *world) { w.infrastructure = nil }}, "completed=True/NotDeorbited; rejection=InfrastructurePending"},
		"deleted, credentials elsewhere":  {[]func(*world){unregistered, deleting, func(w *world) { w.infrastructure.Identity.Type = "ClusterIdentity" }}, "completed=True/NotDeorbited; rejection=IdentityNotSupported"},
		"deleted, a network of another":   {[]func(*world){unregistered, deleting, func(w *world) { w.infrastructure.ClusterUID = "u2" }}, "completed=True/NotDeorbited; rejection=InfrastructureOfAnother"},
		"deleted, a Kluster of a user": {[]func(*world){deleting, func(w *world) { delete(w.kluster.Annotations, kubernikusv1.ClusterAPIUIDAnnotation) }},
			"completed=True/NotDeorbited; holds=false,false; cp=false; worker=false; rejection=NameTaken"},
		"deleted, a control plane that never was": {[]func(*world){deleting, noMachines}, "update machines=Deleted confirmed=true; completed=False/Deleting; holds=true,true; delete"},

		// On another infrastructure, whose objects are not touched. Its nodes may be no Machines.
		"elsewhere, deleted":                     {[]func(*world){elsewhere, deleting}, "update machines=Present confirmed=true; completed=False/Deleting; delete"},
		"elsewhere, deleted without Machines":    {[]func(*world){elsewhere, deleting, noMachines}, "update confirmed=true; completed=False/Deleting; delete"},
		"elsewhere, empty":                       {[]func(*world){elsewhere, deleting, at(kubernikusv1.DeorbitMachines, time.Minute), completed("False", "Machines", "2 remain")}, "cp=false; worker=false"},
		"elsewhere, the last Machine is deleted": {[]func(*world){elsewhere, deleting, noMachines, at(kubernikusv1.DeorbitMachines, time.Hour), completed("False", "Machines", "2 remain")}, "update machines=Deleted confirmed=true"},
		"elsewhere, over":                        {[]func(*world){elsewhere, deleting, noMachines, released("CleanInCluster")}, "completed=True/CleanInCluster; finish"},

		// A control plane that was never initialized, with Machines that did not become nodes.
		"deleted, it never came up":      {[]func(*world){deleting, neverUp}, "update machines=Present plane=NeverInitialized confirmed=true; completed=False/Deleting; holds=true,true; delete"},
		"deleted, a Machine is a node":   {[]func(*world){deleting, neverUp, func(w *world) { w.unjoined = false }}, "update machines=Present confirmed=true; completed=False/Deleting; holds=true,true; delete"},
		"deleted, not checked after all": {[]func(*world){deleting, neverUp, func(w *world) { w.cluster.NeverInitialized = false }}, "update machines=Present confirmed=true; completed=False/Deleting; holds=true,true; delete"},
		"it never came up, its machines are deleted": {[]func(*world){deleting, waiting, noMachines, at(kubernikusv1.DeorbitMachines, time.Minute), completed("False", "Machines", "2 remain"), neverUp, func(w *world) {
			annotate(w.kluster, kubernikusv1.ControlPlaneAnnotation, kubernikusv1.ControlPlaneNeverInitialized)
			w.unjoined = false
		}}, "update machines=Deleted plane=NeverInitialized confirmed=true"},
		"it came up after all": {[]func(*world){deleting, waiting, at(kubernikusv1.DeorbitPods, time.Minute), completed("False", "Pods", "2 remain"), func(w *world) {
			annotate(w.kluster, kubernikusv1.ControlPlaneAnnotation, kubernikusv1.ControlPlaneNeverInitialized)
		}}, "update machines=Present confirmed=true; again=29m0s"},

		// Phase 2: the infrastructure is retained until OpenStack was checked.
		"the last Machine is deleted": {[]func(*world){deleting, waiting, noMachines, at(kubernikusv1.DeorbitMachines, time.Hour), completed("False", "Machines", "2 remain")}, "update machines=Deleted confirmed=true"},
		"Verify":                      {[]func(*world){deleting, waiting, noMachines, at(kubernikusv1.DeorbitVerify, time.Hour), completed("False", "Verify", "2 remain"), func(w *world) { annotate(w.kluster, kubernikusv1.MachinesAnnotation, "Deleted") }}, ""},
		"over":                        {[]func(*world){deleting, waiting, noMachines, released("Deorbited")}, "completed=True/Deorbited; holds=false,false; finish"},
		"over, kept by another": {[]func(*world){deleting, noMachines, released("Deorbited"), completed("True", "Deorbited", "the end"), func(w *world) {
			w.infrastructure.Finalized = false
			w.kluster.Finalizers = []string{"example.com/keep"}
		}}, ""},
		"over, its end is not reported yet": {[]func(*world){deleting, waiting, noMachines, released("Deorbited"), func(w *world) { w.kluster.Status.Conditions = nil }}, ""},
		"released by force before it began": {[]func(*world){deleting, waiting, noMachines, released("Deorbited"), func(w *world) {
			w.kluster.Status.Conditions, w.kluster.Status.Deorbit = nil, nil
		}}, "completed=True/NotDeorbited; holds=false,false; finish"},
		"over with leftovers":      {[]func(*world){deleting, waiting, noMachines, released("Leftovers")}, "completed=True/Leftovers; holds=false,false; finish"},
		"over before the machines": {[]func(*world){deleting, waiting, released("Leftovers"), completed("True", "Leftovers", "the end")}, "holds=false,false; cp=false; worker=false; finish"},
		"detached by a user":       {[]func(*world){deleting, waiting, noMachines, released("Deorbited"), func(w *world) { annotate(w.kluster, kubernikusv1.DetachAnnotation, "true") }}, "completed=True/Detached; holds=false,false; finish"},
		"over and deleted":         {[]func(*world){deleting, noMachines, completed("True", "Deorbited", "the end"), func(w *world) { w.kluster = nil; w.infrastructure.Finalized = false }}, ""},
		"over, a hold is left":     {[]func(*world){deleting, waiting, noMachines, completed("True", "Deorbited", "the end"), func(w *world) { w.kluster = nil }}, "holds=false,false"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(test.changes...)
			if got := summary(decide(w.observed, w.settings, epoch)); got != test.want {
				t.Errorf("plan = %q\nwant   %q", got, test.want)
			}
		})
	}
}

// In whatever phase a Cluster is: when it is moved, removed by force, replaced by another one or deselected, its Kluster is detached, and
// while it is paused, nothing but a pause is written.
func TestEventsInEveryPhase(t *testing.T) {
	phases := map[string][]func(*world){"living": nil, "deleted": {deleting}}
	for _, stage := range kubernikusv1.DeorbitStages() {
		phases[string(stage)] = []func(*world){deleting, waiting, at(stage, time.Minute)}
		phases[string(stage)+", no machines"] = []func(*world){deleting, waiting, noMachines, at(stage, time.Hour), func(w *world) {
			annotate(w.kluster, kubernikusv1.MachinesAnnotation, kubernikusv1.MachinesDeleted)
		}}
		phases[string(stage)+", the Kluster alone"] = []func(*world){at(stage, time.Minute)}
	}
	events := map[string]func(*world){
		"moved":      func(w *world) { w.cluster.Moved = true },
		"forced":     func(w *world) { w.cluster, w.infrastructure, w.machines = nil, nil, nil },
		"another":    func(w *world) { w.cluster.UID = "u2" },
		"deselected": func(w *world) { w.cluster.Selection = "false" },
	}
	for phase, changes := range phases {
		for event, change := range events {
			for _, paused := range []bool{false, true} {
				w := newWorld(changes...)
				w.cluster.Paused = paused
				change(w)
				p := decide(w.observed, w.settings, epoch)
				if p.update == nil || !p.update.Detached() || p.update.MachinesOf() != "" || p.update.Annotations["confirmation.gardener.cloud/deletion"] != "true" ||
					p.deletes != w.kluster.DeletionTimestamp.IsZero() || p.create != nil || p.finishes || p.completed != nil {
					t.Errorf("%s, %s, paused %t: %s", phase, event, paused, summary(p))
				}
				if held := p.holds; held != nil && (event != "deselected" || held.finalizer || held.paused) {
					t.Errorf("%s, %s, paused %t: holds %+v", phase, event, paused, held)
				}
				for name, held := range p.hooks {
					if held || event != "deselected" {
						t.Errorf("%s, %s: hook of %s %t", phase, event, name, held)
					}
				}
			}
		}
		w := newWorld(changes...)
		w.cluster.Paused = true
		p := decide(w.observed, w.settings, epoch)
		if p.update == nil || p.update.Annotations["groundskeeper.io/paused"] != "true" {
			t.Errorf("%s, paused: %s", phase, summary(p))
		}
		if p.update = nil; p.writes() {
			t.Errorf("%s, paused: it writes %s", phase, summary(p))
		}
	}
}

// The Runtime Extension retains a Cluster for as long as its machines are needed.
func TestRetains(t *testing.T) {
	for name, test := range map[string]struct {
		changes []func(*world)
		held    bool
		message string
	}{
		"the Kluster is not deleted yet":   {[]func(*world){deleting}, true, "Deorbit: Deleting: the deletion of the Kluster is requested"},
		"a stage":                          {[]func(*world){deleting, at(kubernikusv1.DeorbitPods, time.Minute)}, true, "Deorbit: Pods: 2 remain"},
		"the cluster is empty":             {[]func(*world){deleting, at(kubernikusv1.DeorbitMachines, time.Minute)}, false, ""},
		"it takes too long":                {[]func(*world){deleting, at(kubernikusv1.DeorbitPods, 30*time.Minute)}, false, ""},
		"over":                             {[]func(*world){deleting, released("Deorbited")}, false, ""},
		"the Kluster is about to come":     {[]func(*world){deleting, unregistered}, true, "Deorbit begins"},
		"it does not come":                 {[]func(*world){deleting, unregistered, func(w *world) { w.cluster.DeletedAt = epoch.Add(-30 * time.Minute) }}, false, ""},
		"there can be none":                {[]func(*world){deleting, unregistered, func(w *world) { w.cluster.PodRanges = nil }}, false, ""},
		"over, and the Kluster is deleted": {[]func(*world){deleting, unregistered, completed("True", "Deorbited", "the end")}, false, ""},
		"not selected":                     {[]func(*world){deleting, func(w *world) { w.cluster.Selection = "" }}, false, ""},
		"moved":                            {[]func(*world){deleting, func(w *world) { w.cluster.Moved = true }}, false, ""},
		"no Cluster":                       {[]func(*world){func(w *world) { w.cluster = nil }}, false, ""},
		"elsewhere":                        {[]func(*world){elsewhere, deleting, at(kubernikusv1.DeorbitPods, time.Minute)}, true, "Deorbit: Pods: 2 remain"},
		"elsewhere, about to come":         {[]func(*world){elsewhere, deleting, unregistered}, true, "Deorbit begins"},
		"no infrastructure":                {[]func(*world){deleting, func(w *world) { w.infrastructure = nil }}, false, ""},
		"unreadable":                       {[]func(*world){deleting, func(w *world) { w.cluster.Invalid = fmt.Errorf("no") }}, false, ""},
		"a Kluster of a user":              {[]func(*world){deleting, func(w *world) { delete(w.kluster.Annotations, kubernikusv1.ClusterAPIUIDAnnotation) }}, false, ""},
		"a Kluster of another Cluster":     {[]func(*world){deleting, func(w *world) { w.cluster.UID = "u2" }}, false, ""},
	} {
		w := newWorld(test.changes...)
		if held, message := retains(w.observed, w.settings, epoch); held != test.held || message != test.message {
			t.Errorf("%s: %t %q, want %t %q", name, held, message, test.held, test.message)
		}
	}
}
