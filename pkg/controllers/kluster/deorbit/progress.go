// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// settings are what decides about the way through the stages, besides what the checks show.
type settings struct {
	timeout, stageTimeout, apiUnavailableTimeout time.Duration
	// verifyTimeout limits the stages behind Machines, in which the network of a cluster of Cluster API is retained.
	verifyTimeout time.Duration
	// routesResync is how long removed routes have to stay away.
	routesResync time.Duration
	// cloud is true when there is an OpenStack project to check, and workload when there may be a workload cluster.
	cloud, workload bool
	// machines is whether Cluster API still has Machines of the cluster; "": it does not delete the cluster.
	machines string
	// neverCameUp is whether Cluster API never initialized a control plane of the cluster.
	neverCameUp bool
	// project is the id of the OpenStack project, "" as long as unknown.
	project string
	// selfDestruct is true when an annotation ends Deorbit immediately.
	selfDestruct bool
}

// settingsOf returns the settings of a Kluster: its own, else those of the configuration. Data is that of its Secret, nil when
// there is none. Without a cloud there is nothing to wait for in a cluster that nothing ever led to; with one, or where it is known
// that there is a cluster, the kubeconfig may still come.
func settingsOf(k *kubernikusv1.Kluster, all configv1alpha1.KlusterConfiguration, data map[string][]byte) settings {
	spec, config, project := &k.Spec.Deorbit, all.Deorbit, ""
	if k.Status.Openstack != nil {
		project = k.Status.Openstack.ProjectID
	}
	return settings{
		timeout:               duration(spec.Timeout, config.Timeout),
		stageTimeout:          duration(spec.StageTimeout, config.StageTimeout),
		apiUnavailableTimeout: duration(spec.APIUnavailableTimeout, config.APIUnavailableTimeout),
		verifyTimeout:         all.ClusterAPI.VerifyTimeout.Duration,
		routesResync:          routesResync(config.PollInterval.Duration),
		cloud:                 !k.Spec.NoCloud,
		workload:              !k.Spec.NoCloud || kluster.HasWorkload(data) || k.ClusterID() != "" || k.MachinesOf() != "",
		machines:              k.MachinesOf(),
		neverCameUp:           k.NeverCameUp(),
		project:               project,
		selfDestruct:          k.SelfDestructs(),
	}
}

// policiesOf returns the deletion policies of a Kluster. Unset fields have the defaults of the API server.
func policiesOf(k *kubernikusv1.Kluster, config configv1alpha1.DeorbitConfiguration) stage.Policies {
	spec := &k.Spec.Deorbit
	return stage.Policies{
		PersistentVolumes:  cmp.Or(spec.PersistentVolumes, kubernikusv1.DeletionPolicyDelete),
		LoadBalancers:      cmp.Or(spec.LoadBalancers, kubernikusv1.DeletionPolicyDelete),
		FloatingIPs:        cmp.Or(spec.FloatingIPs, kubernikusv1.DeletionPolicyDelete),
		Snapshots:          cmp.Or(spec.Snapshots, kubernikusv1.DeletionPolicyDelete),
		UnseenVolumes:      cmp.Or(spec.UnseenVolumes, kubernikusv1.DeletionPolicyRetain),
		ServiceGracePeriod: duration(spec.ServiceGracePeriod, config.ServiceGracePeriod),
	}
}

func duration(own, fallback *metav1.Duration) time.Duration { return cmp.Or(own, fallback).Duration }

// lastInCluster is the last of the stages that work inside the workload cluster. What comes behind it works in OpenStack.
const lastInCluster = kubernikusv1.DeorbitWait

func isInCluster(s kubernikusv1.DeorbitStage) bool {
	return slices.Contains([]kubernikusv1.DeorbitStage{kubernikusv1.DeorbitFreeze, kubernikusv1.DeorbitPods, kubernikusv1.DeorbitSnapshots,
		kubernikusv1.DeorbitClaims, kubernikusv1.DeorbitServices, lastInCluster}, s)
}

// isFrozen reports whether a cluster may be frozen in a stage.
func isFrozen(s kubernikusv1.DeorbitStage) bool { return s != "" && s != kubernikusv1.DeorbitDrain }

func (s settings) has(which kubernikusv1.DeorbitStage) bool {
	switch {
	case isInCluster(which):
		return s.workload
	case which == kubernikusv1.DeorbitMachines:
		return s.machines != "" && !s.machinesDeleted()
	case which == kubernikusv1.DeorbitVerify, which == kubernikusv1.DeorbitRoutes:
		return s.cloud
	default:
		return true
	}
}

func (s settings) machinesDeleted() bool { return s.machines == kubernikusv1.MachinesDeleted }

// after returns the next stage behind another one. Behind a stage that is not known it is the first.
func (s settings) after(which kubernikusv1.DeorbitStage) kubernikusv1.DeorbitStage {
	stages := kubernikusv1.DeorbitStages()
	at := slices.Index(stages, which)
	if at < 0 {
		return kubernikusv1.DeorbitDrain
	}
	for _, next := range stages[at+1:] {
		if s.has(next) {
			return next
		}
	}
	return kubernikusv1.DeorbitRelease
}

// progress is how far a Deorbit is: what the status reports, and what is only remembered.
type progress struct {
	kubernikusv1.DeorbitStatus
	tally tally
	// failure is why the last check could not see what it had to; nil: it could.
	failure *failure
	// isSelf is true when the workload cluster is the one that Groundskeeper runs in.
	isSelf bool
	// held is why nothing may be done, because other objects lead to the cluster; nil: it may.
	held *hold
	// routes are those that were removed, and may come back.
	routes returning
}

func (p progress) copy() progress {
	p.routes.removed = slices.Clone(p.routes.removed)
	p.DeorbitStatus = *p.DeepCopy()
	p.tally.least, p.tally.requested = maps.Clone(p.tally.least), maps.Clone(p.tally.requested)
	return p
}

// isUnfrozen reports whether stage Freeze was left before the freeze was in force: what is in the cluster was read, and more may come.
func (p progress) isUnfrozen() bool {
	return p.ClusterLost == "" && slices.ContainsFunc(p.Remaining, cluster.IsFreeze)
}

// action is what follows a step, besides that its progress is written down.
type action struct {
	// soon rechecks immediately, not after the poll interval.
	soon bool
	// ends releases the Kluster; "": not yet.
	ends ending
	// deleted are objects whose deletion was requested, for the first time in the stage.
	deleted []kubernikusv1.DeorbitObject
	// notes are what to report.
	notes []note
}

type note struct {
	warning         bool
	reason, message string
}

// resumed returns the progress behind a pause: nothing was checked meanwhile, so the clocks stood still.
func (p progress) resumed(pause time.Duration) progress {
	p = p.copy()
	for _, at := range []*metav1.Time{p.StartedAt, p.StageStartedAt, p.LastProgressAt, p.VerifyStartedAt} {
		if at != nil {
			*at = metav1.NewTime(at.Add(pause)).Rfc3339Copy()
		}
	}
	p.UnreachableSince = nil
	return p
}

// tally is what is known of the checks of a stage since it began, or since this process did.
type tally struct {
	// least is the least number of each kind that remained.
	least     map[string]int
	requested map[kubernikusv1.DeorbitObject]bool
	// stuck is true when it was reported that nothing moves.
	stuck bool
}

// requests remembers the objects of a check whose deletion was requested, and returns those that were not requested before.
func (t *tally) requests(o observed) (first []kubernikusv1.DeorbitObject) {
	if t.requested == nil {
		t.requested = map[kubernikusv1.DeorbitObject]bool{}
	}
	for _, p := range o.parts {
		for _, object := range p.report.Deleted {
			if key := keyOf(object); !t.requested[key] {
				t.requested[key] = true
				first = append(first, object)
			}
		}
	}
	return first
}

// shrinks reports whether a check found fewer objects of any kind than all earlier ones. An object that is recreated with another name is
// not progress.
func (t *tally) shrinks(o observed) (progress bool) {
	counts := map[string]int{}
	for kind := range t.least {
		counts[kind] = 0
	}
	for _, p := range o.parts {
		for _, object := range p.report.Remaining {
			counts[object.Kind]++
		}
	}
	if t.least == nil {
		t.least = map[string]int{}
	}
	for kind, count := range counts {
		least, known := t.least[kind]
		if !known || count < least {
			t.least[kind] = count
			progress = progress || known
		}
	}
	return progress
}
