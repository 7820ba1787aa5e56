// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

const (
	drain, freeze, pods, snapshots = kubernikusv1.DeorbitDrain, kubernikusv1.DeorbitFreeze, kubernikusv1.DeorbitPods, kubernikusv1.DeorbitSnapshots
	claims, services, wait         = kubernikusv1.DeorbitClaims, kubernikusv1.DeorbitServices, kubernikusv1.DeorbitWait
	verify, routes, release        = kubernikusv1.DeorbitVerify, kubernikusv1.DeorbitRoutes, kubernikusv1.DeorbitRelease
)

// epoch is when all Deorbits of the tables begin.
var epoch = time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)

var (
	errDown = errors.New("connection refused")
	// unauthorized and forbidden are the responses of an API server that lives.
	unauthorized error = apierrors.NewUnauthorized("Unauthorized")
	forbidden    error = apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "", errors.New(`user "u" cannot list resource "services"`))
)

func usual() settings {
	return settings{timeout: 24 * time.Hour, stageTimeout: time.Hour, apiUnavailableTimeout: 2 * time.Minute, verifyTimeout: 4 * time.Hour, cloud: true, workload: true, project: "garden"}
}

// givenUp is a cluster that was given up.
func givenUp(p *progress) { p.ClusterLost, p.ClusterID = "refused connection", "c1" }

func seenVolume(id string, gone bool) func(*progress) {
	return func(p *progress) {
		p.SeenVolumes = append(p.SeenVolumes, kubernikusv1.SeenVolume{ID: id, Name: "pv-" + id, ReclaimPolicy: "Delete", Gone: gone})
	}
}

func without(cloud, workload bool) settings {
	s := usual()
	s.cloud, s.workload = cloud, workload
	return s
}

func destructing(s settings) settings {
	s.selfDestruct = true
	return s
}

// in returns a Deorbit that began at the epoch and has been in a stage since.
func in(which kubernikusv1.DeorbitStage, changes ...func(*progress)) progress {
	p := progress{DeorbitStatus: kubernikusv1.DeorbitStatus{Stage: which, StartedAt: since(0), StageStartedAt: since(0), LastProgressAt: since(0)}}
	for _, change := range changes {
		change(&p)
	}
	return p
}

func since(d time.Duration) *metav1.Time { return new(metav1.NewTime(epoch.Add(d))) }

func remaining(objects ...kubernikusv1.DeorbitObject) func(*progress) {
	return func(p *progress) { p.Remaining = objects }
}

func undecided(objects ...kubernikusv1.DeorbitObject) func(*progress) {
	return func(p *progress) { p.Undecided = objects }
}

// withUndecided adds to the first part of a check what no user requested to keep.
func withUndecided(o *observed, objects ...kubernikusv1.DeorbitObject) *observed {
	o.parts[0].report.Undecided = objects
	return o
}

func unreachable(from time.Duration) func(*progress) {
	return func(p *progress) { p.UnreachableSince = since(from) }
}

func ownCluster(p *progress) { p.isSelf = true }

func thing(kind, name string) kubernikusv1.DeorbitObject {
	return kubernikusv1.DeorbitObject{Kind: kind, Namespace: "shop", Name: name, Reason: "it is still there"}
}

func things(kind string, names ...string) (list []kubernikusv1.DeorbitObject) {
	for _, name := range names {
		list = append(list, thing(kind, name))
	}
	return list
}

func showed(which kubernikusv1.DeorbitStage, left ...kubernikusv1.DeorbitObject) *observed {
	return &observed{stage: which, parts: []part{{stage: which, report: stage.Report{Remaining: left}}}}
}

// released returns a check in stage Release: what Verify and what Routes reported.
func released(left, routesLeft []kubernikusv1.DeorbitObject) *observed {
	return &observed{stage: release, parts: []part{{stage: verify, report: stage.Report{Remaining: left}}, {stage: routes, report: stage.Report{Remaining: routesLeft}}}}
}

// stuckIn reports in the first part of a check that only a user changes some objects.
func stuckIn(o *observed, objects ...kubernikusv1.DeorbitObject) *observed {
	o.parts[0].report.Stuck = objects
	return o
}

// withdrawn adds to a check in stage Release, nil for one without a cloud, what is left of the announcement.
func withdrawn(o *observed, left ...kubernikusv1.DeorbitObject) *observed {
	if o == nil {
		o = &observed{stage: release}
	}
	o.parts = append(o.parts, part{stage: drain, report: stage.Report{Remaining: left}})
	return o
}

// failedDrain is such a check whose part of the announcement failed.
func failedDrain(o *observed) *observed {
	o.parts = append(o.parts, part{stage: drain, failure: internalFailure(errDown)})
	return o
}

func failed(which kubernikusv1.DeorbitStage, f *failure) *observed {
	if which == release {
		return &observed{stage: which, parts: []part{{stage: verify, failure: f}, {stage: routes, failure: f}}}
	}
	return &observed{stage: which, parts: []part{{stage: which, failure: f}}}
}

func rejected() *failure { return &failure{reason: "CredentialsRefused", message: "401"} }

func seen(which kubernikusv1.DeorbitStage, volumes ...kubernikusv1.SeenVolume) *observed {
	o := showed(which)
	o.parts[0].report.Seen.Volumes = volumes
	return o
}

func TestAdvance(t *testing.T) {
	claim, volume, route := thing("PersistentVolumeClaim", "data-0"), thing("Volume", "v"), thing("Route", "r")
	backend := thing("DiscoveryBackend", "b")
	stuck, stands, waits := thing("LoadBalancer", "stuck"), thing("Volume", "stands"), kubernikusv1.DeorbitObject{Kind: "FloatingIP", Name: "f", Reason: "waits for the load balancers, which could not be checked"}
	unseen := []kubernikusv1.DeorbitObject{
		{Kind: "FloatingIP", Name: "f", Reason: "clusterName is neither set in spec.cloudProvider nor seen in the cluster: nothing is deleted by it, and the cluster could not be checked"},
		{Kind: "Volume", Name: "u", Reason: "never seen: the cluster could not be checked, and spec.deorbit.unseenVolumes is Retain"},
	}
	for name, c := range map[string]struct {
		before   progress
		seen     *observed
		settings settings
		after    time.Duration
		want     kubernikusv1.DeorbitStage
		ends     ending
		// notes are the reasons of events, in their order.
		notes string
		left  []kubernikusv1.DeorbitObject
	}{
		"begins":                     {progress{}, nil, usual(), 0, drain, "", "DeorbitStarted DeorbitStage", nil},
		"nothing new":                {in(claims, remaining(claim)), nil, usual(), time.Hour, claims, "", "", []kubernikusv1.DeorbitObject{claim}},
		"a check of another stage":   {in(claims), showed(pods), usual(), 0, claims, "", "", nil},
		"a check that was none":      {in(claims), &observed{}, usual(), 0, claims, "", "", nil},
		"drained":                    {in(drain), showed(drain), usual(), 0, freeze, "", "DeorbitStage", nil},
		"frozen":                     {in(freeze), showed(freeze), usual(), 0, pods, "", "DeorbitStage", nil},
		"no pods":                    {in(pods), showed(pods), usual(), 0, snapshots, "", "DeorbitStage", nil},
		"no snapshots":               {in(snapshots), showed(snapshots), usual(), 0, claims, "", "DeorbitStage", nil},
		"a claim":                    {in(claims), showed(claims, claim), usual(), 0, claims, "", "", []kubernikusv1.DeorbitObject{claim}},
		"no claims":                  {in(claims, remaining(claim)), showed(claims), usual(), 0, services, "", "DeorbitStage", nil},
		"no services":                {in(services), showed(services), usual(), 0, wait, "", "DeorbitStage", nil},
		"nothing to wait for":        {in(wait), showed(wait), usual(), 0, verify, "", "DeorbitStage", nil},
		"verified":                   {in(verify), showed(verify), usual(), 0, routes, "", "DeorbitStage", nil},
		"no routes":                  {in(routes), showed(routes), usual(), 0, release, "", "DeorbitStage", nil},
		"clean":                      {in(release), released(nil, nil), usual(), 0, release, endsClean, "", nil},
		"undecided":                  {in(release), withUndecided(released(nil, nil), volume), usual(), 0, release, endsLeftovers, "", nil},
		"undecided before":           {in(release, undecided(thing("PersistentVolume", "share"))), released(nil, nil), usual(), 0, release, endsLeftovers, "", nil},
		"not undecided any more":     {in(release, undecided(volume)), released(nil, nil), usual(), 0, release, endsClean, "", nil},
		"not clean yet":              {in(release), released([]kubernikusv1.DeorbitObject{volume}, nil), usual(), 23 * time.Hour, release, "", "Stuck", []kubernikusv1.DeorbitObject{volume}},
		"a route not yet":            {in(release), released(nil, []kubernikusv1.DeorbitObject{route}), usual(), time.Hour, release, "", "Stuck", []kubernikusv1.DeorbitObject{route}},
		"a volume waits for a claim": {in(verify, remaining(claim)), failed(verify, rejected()), usual(), 0, verify, "", "", []kubernikusv1.DeorbitObject{claim}},

		// A waiting stage without progress is left, except for Drain and Release.
		"stuck":                             {in(claims), showed(claims, claim), usual(), time.Hour, services, "", "StageLeft DeorbitStage", []kubernikusv1.DeorbitObject{claim}},
		"nearly stuck":                      {in(claims), showed(claims, claim), usual(), time.Hour - time.Second, claims, "", "Stuck", []kubernikusv1.DeorbitObject{claim}},
		"stuck in Verify":                   {in(verify), showed(verify, volume), usual(), time.Hour, routes, "", "StageLeft DeorbitStage", []kubernikusv1.DeorbitObject{volume}},
		"stuck in Routes":                   {in(routes), showed(routes, route), usual(), time.Hour, release, "", "StageLeft DeorbitStage", []kubernikusv1.DeorbitObject{route}},
		"stuck in Drain":                    {in(drain), showed(drain, thing("DiscoveryBackend", "b")), usual(), 23 * time.Hour, drain, "", "", things("DiscoveryBackend", "b")},
		"stuck in Release":                  {in(release), released([]kubernikusv1.DeorbitObject{volume}, nil), usual(), 23 * time.Hour, release, "", "Stuck", []kubernikusv1.DeorbitObject{volume}},
		"only the unseen in Release":        {in(release), stuckIn(released(unseen, nil), unseen...), usual(), time.Hour, release, endsLeftovers, "Stuck", unseen},
		"only the unseen, and a claim":      {in(release, remaining(claim)), stuckIn(released(unseen, nil), unseen...), usual(), time.Hour, release, endsLeftovers, "Stuck", []kubernikusv1.DeorbitObject{unseen[0], claim, unseen[1]}},
		"only the unseen, not yet":          {in(release), stuckIn(released(unseen, nil), unseen...), usual(), time.Hour - time.Second, release, "", "Stuck", unseen},
		"the unseen and a volume":           {in(release), stuckIn(released(append([]kubernikusv1.DeorbitObject{volume}, unseen...), nil), unseen...), usual(), 23 * time.Hour, release, "", "Stuck", append(slices.Clone(unseen), volume)},
		"the unseen, and routes not looked": {in(release), &observed{stage: release, parts: []part{{stage: verify, report: stage.Report{Remaining: unseen, Stuck: unseen}}, {stage: routes, failure: rejected()}}}, usual(), 23 * time.Hour, release, "", "", unseen},
		"only what is stuck":                {in(release), stuckIn(released([]kubernikusv1.DeorbitObject{stuck, stands}, nil), stuck, stands), usual(), time.Hour, release, endsLeftovers, "Stuck", []kubernikusv1.DeorbitObject{stuck, stands}},
		"stuck, and what waits for it":      {in(release), stuckIn(released([]kubernikusv1.DeorbitObject{waits, stuck}, nil), stuck), usual(), time.Hour, release, endsLeftovers, "Stuck", []kubernikusv1.DeorbitObject{waits, stuck}},
		"stuck with another reason":         {in(release), stuckIn(released([]kubernikusv1.DeorbitObject{{Kind: "LoadBalancer", Name: "stuck", Reason: "status PENDING_DELETE"}}, nil), stuck), usual(), 23 * time.Hour, release, "", "Stuck", []kubernikusv1.DeorbitObject{{Kind: "LoadBalancer", Name: "stuck", Reason: "status PENDING_DELETE"}}},
		"only what is stuck in Verify":      {in(verify), stuckIn(showed(verify, stuck, stands), stuck, stands), usual(), 0, routes, "", "DeorbitStage", []kubernikusv1.DeorbitObject{stuck, stands}},
		"stuck in Verify, and a volume":     {in(verify), stuckIn(showed(verify, stuck, volume), stuck), usual(), 0, verify, "", "", []kubernikusv1.DeorbitObject{stuck, volume}},
		"cannot look":                       {in(verify), failed(verify, rejected()), usual(), time.Hour, routes, "", "StageLeft DeorbitStage", nil},

		// An API server that fails is given up after a while, and what it was is cleaned up without it.
		"fails first":          {in(pods), failed(pods, clusterFailure(errDown)), usual(), time.Minute, pods, "", "", nil},
		"fails long":           {in(pods, unreachable(0)), failed(pods, clusterFailure(errDown)), usual(), 2 * time.Minute, verify, "", "ClusterUnreachable DeorbitStage", nil},
		"fails nearly long":    {in(pods, unreachable(0)), failed(pods, clusterFailure(errDown)), usual(), 2*time.Minute - time.Second, pods, "", "", nil},
		"fails in Wait":        {in(wait, unreachable(0), remaining(claim)), failed(wait, clusterFailure(errDown)), usual(), time.Hour, verify, "", "ClusterUnreachable DeorbitStage", []kubernikusv1.DeorbitObject{claim}},
		"no kubeconfig, long":  {in(freeze, unreachable(0)), failed(freeze, &failure{reason: kluster.ReasonNoCredentials, cluster: true}), usual(), time.Hour, verify, "", "ClusterUnreachable DeorbitStage", nil},
		"rejected, long":       {in(pods, unreachable(0)), failed(pods, clusterFailure(unauthorized)), usual(), 23 * time.Hour, pods, "", "", nil},
		"forbidden, long":      {in(freeze, unreachable(0)), failed(freeze, clusterFailure(forbidden)), usual(), 23 * time.Hour, freeze, "", "", nil},
		"a wrong Secret, long": {in(freeze, unreachable(0)), failed(freeze, wayFailure(&kubernikusv1.Kluster{}, errDown)), usual(), 23 * time.Hour, freeze, "", "", nil},
		"rejected to the end":  {in(pods), failed(pods, clusterFailure(unauthorized)), usual(), 24 * time.Hour, release, "", "DeorbitStage", nil},
		"Groundskeeper fails":  {in(pods, unreachable(0)), failed(pods, internalFailure(errDown)), usual(), 10 * time.Hour, pods, "", "", nil},
		"OpenStack fails long": {in(verify, unreachable(0)), failed(verify, cloudFailure(errDown)), usual(), 59 * time.Minute, verify, "", "", nil},

		// Without a cloud, without a workload cluster.
		"no cloud":                        {in(wait), showed(wait), without(false, true), 0, release, "", "DeorbitStage", nil},
		"no cloud, lost":                  {in(pods, unreachable(0), remaining(claim)), failed(pods, clusterFailure(errDown)), without(false, true), time.Hour, release, "", "ClusterUnreachable DeorbitStage", []kubernikusv1.DeorbitObject{claim}},
		"neither":                         {in(drain), showed(drain), without(false, false), 0, release, "", "DeorbitStage", nil},
		"the cloud disappeared meanwhile": {in(verify), nil, without(false, true), 0, release, "", "DeorbitStage", nil},
		"no cloud, the end":               {in(release), withdrawn(nil), without(false, true), 0, release, endsCleanInCluster, "", nil},
		"no cloud, cut short":             {in(services), nil, without(false, true), 24 * time.Hour, release, "", "DeorbitStage", nil},
		"no cloud, the end, lost": {in(release, givenUp, seenVolume("v1", false), seenVolume("v2", true)), withdrawn(nil), without(false, true), 0, release, endsLeftovers, "", []kubernikusv1.DeorbitObject{
			{Kind: "Cluster", ID: "c1", Reason: "it could not be checked, more may be left: refused connection"},
			{Kind: "PersistentVolume", Name: "pv-v1", ID: "v1", Reason: "it was not seen to be deleted, because the cluster could not be read to the end"},
		}},
		"a cloud, the end, lost": {in(release, givenUp, seenVolume("v1", false)), released(nil, nil), usual(), 0, release, endsClean, "", nil},
		"no cloud, left":         {in(release, remaining(claim)), withdrawn(nil), without(false, true), 0, release, endsLeftovers, "", []kubernikusv1.DeorbitObject{claim}},

		// An announcement that was created during the deletion, after Drain, is waited for like the rest.
		"announced late":       {in(release), withdrawn(released(nil, nil), backend), usual(), time.Hour, release, "", "Stuck", []kubernikusv1.DeorbitObject{backend}},
		"announced, and more":  {in(release), withdrawn(released([]kubernikusv1.DeorbitObject{volume}, nil), backend), usual(), time.Hour, release, "", "Stuck", []kubernikusv1.DeorbitObject{backend, volume}},
		"withdrawn in the end": {in(release, remaining(backend)), withdrawn(released(nil, nil)), usual(), time.Hour, release, endsClean, "", nil},
		"unknown":              {in(release), failedDrain(released(nil, nil)), usual(), 25 * time.Hour, release, "", "", nil},

		// The overall timeout starts at startedAt. A final check then reports what is left.
		"timeout":                            {in(claims, remaining(claim)), nil, usual(), 24 * time.Hour, release, "", "DeorbitStage", []kubernikusv1.DeorbitObject{claim}},
		"timeout in Drain":                   {in(drain), showed(drain, thing("DiscoveryBackend", "b")), usual(), 24 * time.Hour, release, "", "DeorbitStage", things("DiscoveryBackend", "b")},
		"timeout, Groundskeeper fails":       {in(drain), failed(drain, internalFailure(errDown)), usual(), 24 * time.Hour, release, "", "DeorbitStage", nil},
		"nearly timeout":                     {in(drain), nil, usual(), 24*time.Hour - time.Second, drain, "", "", nil},
		"timeout, no look yet":               {in(release), nil, usual(), 24 * time.Hour, release, "", "", nil},
		"timeout, clean":                     {in(release, remaining(volume)), released(nil, nil), usual(), 24 * time.Hour, release, endsClean, "", nil},
		"timeout, a claim stands":            {in(release, remaining(claim)), released(nil, nil), usual(), 24 * time.Hour, release, endsLeftovers, "SelfDestruct", things("PersistentVolumeClaim", "data-0")},
		"timeout, left":                      {in(release), released([]kubernikusv1.DeorbitObject{volume}, []kubernikusv1.DeorbitObject{route}), usual(), 24 * time.Hour, release, endsLeftovers, "SelfDestruct", []kubernikusv1.DeorbitObject{route, volume}},
		"timeout, not requested":             {in(release, remaining(volume)), failed(release, rejected()), usual(), 24 * time.Hour, release, endsLeftovers, "SelfDestruct", []kubernikusv1.DeorbitObject{volume, {Kind: "Project", ID: "garden", Reason: "it could not be checked, more may be left there: 401"}}},
		"timeout, announced":                 {in(release, remaining(thing("DiscoveryBackend", "b"))), released(nil, nil), usual(), 24 * time.Hour, release, endsLeftovers, "SelfDestruct", things("DiscoveryBackend", "b")},
		"timeout, Groundskeeper cannot look": {in(release), failed(release, internalFailure(errDown)), usual(), 25 * time.Hour, release, "", "", nil},
		"timeout, no cloud":                  {in(claims, remaining(claim)), nil, without(false, true), 24 * time.Hour, release, "", "DeorbitStage", []kubernikusv1.DeorbitObject{claim}},
		"timeout, no cloud, look":            {in(release, remaining(claim)), withdrawn(nil), without(false, true), 24 * time.Hour, release, endsLeftovers, "SelfDestruct", []kubernikusv1.DeorbitObject{claim}},

		// The annotation does it immediately.
		"self-destruct":           {in(claims, remaining(claim)), nil, destructing(usual()), 0, release, "", "DeorbitStage", []kubernikusv1.DeorbitObject{claim}},
		"self-destruct, look":     {in(release, remaining(claim)), released([]kubernikusv1.DeorbitObject{volume}, nil), destructing(usual()), 0, release, endsSelfDestruct, "SelfDestruct", []kubernikusv1.DeorbitObject{claim, volume}},
		"self-destruct, no cloud": {in(release), withdrawn(nil), destructing(without(false, true)), 0, release, endsSelfDestruct, "SelfDestruct", nil},

		// Nothing is done to the cluster that Groundskeeper runs in, whatever else is requested.
		"own":                    {in(freeze), &observed{stage: freeze, isSelf: true}, usual(), 0, freeze, "", "", nil},
		"own, timeout":           {in(freeze, ownCluster), nil, usual(), 25 * time.Hour, freeze, "", "", nil},
		"own, self-destruct":     {in(freeze, ownCluster), &observed{stage: freeze, isSelf: true}, destructing(usual()), 0, freeze, "", "", nil},
		"own, then unreachable":  {in(freeze, ownCluster, unreachable(0)), failed(freeze, clusterFailure(errDown)), usual(), time.Hour, freeze, "", "", nil},
		"own in Release":         {in(release), &observed{stage: release, isSelf: true}, usual(), 25 * time.Hour, release, "", "", nil},
		"own, repaired":          {in(freeze, ownCluster), showed(freeze), usual(), 0, pods, "", "DeorbitStage", nil},
		"own, without its cloud": {in(verify, ownCluster), nil, without(false, true), 0, verify, "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			now := epoch.Add(c.after)
			next, action := decide(c.before, c.seen, c.settings, now)
			var notes []string
			for _, n := range action.notes {
				notes = append(notes, n.reason)
			}
			if next.Stage != c.want || action.ends != c.ends || strings.Join(notes, " ") != c.notes || !slices.Equal(next.Remaining, c.left) {
				t.Errorf("got %s, ends %q, notes %v, left %v", next.Stage, action.ends, notes, next.Remaining)
			}
			if entered := next.Stage != c.before.Stage; entered != action.soon || entered && (!next.StageStartedAt.Time.Equal(now) || !next.LastProgressAt.Time.Equal(now)) {
				t.Errorf("it continues %t, began %s, progress %s", action.soon, next.StageStartedAt, next.LastProgressAt)
			}
		})
	}
}

// TestRecordFirst checks that observations are recorded, and checked again, before a stage ends.
func TestRecordFirst(t *testing.T) {
	volume := kubernikusv1.SeenVolume{ID: "v", Name: "pv", ReclaimPolicy: "Delete"}
	next, action := decide(in(freeze), seen(freeze, volume), usual(), epoch)
	if next.Stage != freeze || !action.soon || !slices.Equal(next.SeenVolumes, []kubernikusv1.SeenVolume{volume}) {
		t.Fatalf("got %s, %t, %v", next.Stage, action.soon, next.SeenVolumes)
	}
	if next, _ = decide(next, seen(freeze, volume), usual(), epoch); next.Stage != pods || len(next.SeenVolumes) != 1 {
		t.Errorf("got %s, %v", next.Stage, next.SeenVolumes)
	}
	// Observed objects remain in the record after their deletion.
	if next, _ = decide(next, showed(pods), usual(), epoch); len(next.SeenVolumes) != 1 {
		t.Error("the record is lost")
	}
	// At the end of all time it is recorded, too.
	next, _ = decide(in(pods), seen(pods, volume), usual(), epoch.Add(25*time.Hour))
	if next.Stage != release || len(next.SeenVolumes) != 1 {
		t.Errorf("got %s, %v", next.Stage, next.SeenVolumes)
	}
}

// TestResumed checks that a pause stops all timeouts, and interrupts a series of failures.
func TestResumed(t *testing.T) {
	before := in(claims, unreachable(time.Minute))
	after := before.resumed(48 * time.Hour)
	for _, at := range []*metav1.Time{after.StartedAt, after.StageStartedAt, after.LastProgressAt} {
		if !at.Time.Equal(epoch.Add(48 * time.Hour)) {
			t.Errorf("a clock continued: %s", at)
		}
	}
	if after.UnreachableSince != nil || before.UnreachableSince == nil || !before.StartedAt.Time.Equal(epoch) {
		t.Errorf("got %+v of %+v", after, before)
	}
	if next, _ := decide(after, showed(claims, thing("PersistentVolumeClaim", "c")), usual(), epoch.Add(48*time.Hour+30*time.Minute)); next.Stage != claims {
		t.Errorf("it is sent to %s", next.Stage)
	}
}

// TestRejectedAndLost checks that a cluster that rejects Groundskeeper is considered alive: all timeouts stop, and nothing is
// deleted in OpenStack meanwhile. One that was given up is recorded as such, and earlier rejections are retained.
func TestRejectedAndLost(t *testing.T) {
	p := in(pods, unreachable(0))
	p.SeenVolumes = []kubernikusv1.SeenVolume{{ID: "v", Standing: kubernikusv1.StandingPresent}, {ID: "w", Standing: kubernikusv1.StandingRefused}}
	p.SeenServices = []kubernikusv1.SeenService{{UID: "u", Standing: kubernikusv1.StandingPresent}, {UID: "x", Standing: kubernikusv1.StandingFinalizer}}
	p.SeenSnapshots = []kubernikusv1.SeenSnapshot{{ID: "s", Standing: kubernikusv1.StandingPresent}}
	p, _ = decide(p, failed(pods, clusterFailure(unauthorized)), usual(), epoch.Add(5*time.Hour))
	if p.UnreachableSince != nil || !strings.Contains(p.ClusterRefused, "Unauthorized") || p.Stage != pods {
		t.Errorf("rejected: %+v", p.DeorbitStatus)
	}
	responded, _ := decide(p, showed(pods, thing("Pod", "p")), usual(), epoch.Add(6*time.Hour))
	if responded.ClusterRefused != "" || responded.Stage != pods || !responded.LastProgressAt.Time.Equal(epoch.Add(6*time.Hour)) {
		t.Errorf("it responds again: %+v", responded.DeorbitStatus)
	}
	p.LastProgressAt = since(7 * time.Hour)
	p, _ = decide(p, failed(pods, clusterFailure(errDown)), usual(), epoch.Add(7*time.Hour))
	p, _ = decide(p, failed(pods, clusterFailure(errDown)), usual(), epoch.Add(8*time.Hour))
	if p.Stage != verify || p.ClusterRefused != "" || !strings.Contains(p.ClusterLost, "connection refused") {
		t.Errorf("lost: %+v", p.DeorbitStatus)
	}
	got := []kubernikusv1.Standing{p.SeenVolumes[0].Standing, p.SeenVolumes[1].Standing, p.SeenServices[0].Standing, p.SeenServices[1].Standing, p.SeenSnapshots[0].Standing}
	if want := []kubernikusv1.Standing{"", kubernikusv1.StandingRefused, "", kubernikusv1.StandingFinalizer, ""}; !slices.Equal(got, want) {
		t.Errorf("what stands in a lost cluster is %q, want %q", got, want)
	}
}

// TestExistingObjectsRemain checks that objects that exist in the cluster are reported as remaining, whatever Verify finds in
// OpenStack.
func TestExistingObjectsRemain(t *testing.T) {
	status := kubernikusv1.DeorbitStatus{SeenVolumes: []kubernikusv1.SeenVolume{{ID: "v", Standing: kubernikusv1.StandingRefused}, {ID: "w"}}}
	status.Remaining = []kubernikusv1.DeorbitObject{
		{Kind: "PersistentVolumeClaim", Name: "gone", ID: "w"}, {Kind: "PersistentVolumeClaim", Name: "pending"}, {Kind: "PersistentVolumeClaim", Name: "stands", ID: "v"},
		{Kind: "Service", Name: "s"}, {Kind: "VolumeSnapshot", Name: "not taken"}}
	recordRemaining(&status, part{stage: verify}, false)
	var names []string
	for _, o := range status.Remaining {
		names = append(names, o.Name)
	}
	if want := []string{"pending", "stands", "not taken"}; !slices.Equal(names, want) {
		t.Errorf("remaining = %q, want %q", names, want)
	}
	if recordRemaining(&status, part{stage: verify}, true); len(status.Remaining) > 0 {
		t.Errorf("remaining in a cluster without machines = %+v, want none", status.Remaining)
	}
}

// TestStuckIsReportedOnce checks that a lack of progress is reported early and once per stage, and not when it continues.
func TestStuckIsReportedOnce(t *testing.T) {
	p := in(release)
	var reported []string
	for _, c := range []struct {
		after time.Duration
		left  []kubernikusv1.DeorbitObject
	}{
		{0, things("Volume", "v", "w")}, {stuckAfter - time.Second, things("Volume", "v", "w")}, {stuckAfter, things("Volume", "v", "w")},
		{2 * stuckAfter, things("Volume", "v", "w")}, {3 * stuckAfter, things("Volume", "w")}, {5 * stuckAfter, things("Volume", "w")},
	} {
		next, action := decide(p, released(c.left, nil), usual(), epoch.Add(c.after))
		for _, n := range action.notes {
			reported = append(reported, n.reason+" after "+c.after.String()+": "+n.message)
		}
		p = next
	}
	want := []string{"Stuck after 10m0s: Release: no progress for 10m0s: 2 remain, the first: Volume shop/v: it is still there"}
	if !slices.Equal(reported, want) {
		t.Errorf("notified %q, want %q", reported, want)
	}
}
