// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// noon is when the nodes of these tests went missing.
var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// staleVolume returns a volume that is bound to the claim of boundClaim, as the change makes it.
func staleVolume(change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	volume := withAffinity(term(in(hostname, "a")))
	volume.Name, volume.UID = "v", "uid-v"
	volume.Spec.Local = &corev1.LocalVolumeSource{Path: "/mnt/v"}
	volume.Spec.StorageClassName = "local"
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: "c", UID: "uid-c"}
	volume.Status.Phase = corev1.VolumeBound
	for _, f := range change {
		f(volume)
	}
	return volume
}

func boundClaim(change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "uid-c"}}
	claim.Spec.VolumeName = "v"
	for _, f := range change {
		f(claim)
	}
	return claim
}

// factsAt returns what decides about a volume whose node went missing at noon.
func factsAt(now time.Time, volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) facts {
	config := settings([]string{hostname})
	config.PVCDeletionDelay, config.UnknownNodeDeletionDelay = &metav1.Duration{Duration: time.Minute}, &metav1.Duration{Duration: time.Hour}
	config.DriverGracePeriod = &metav1.Duration{Duration: 10 * time.Minute}
	return facts{&Subject{Stale: Stale{Volume: volume, Since: noon, PhaseSince: noon}, Claim: claim}, &config, now}
}

func disable(object metav1.Object) {
	object.SetAnnotations(map[string]string{OptOutAnnotation: OptOutValue})
}

func TestDecideClaim(t *testing.T) {
	later := func(in *facts) { in.now = noon.Add(time.Minute) }
	unknown := func(in *facts) { in.Unknown, in.now = true, noon.Add(time.Hour) }
	for name, test := range map[string]struct {
		change  func(*facts)
		want    Action
		skipped string
	}{
		"the delay is over":                 {later, Delete, ""},
		"the delay is not over":             {func(in *facts) { in.now = noon.Add(time.Minute - 1) }, Wait, ""},
		"no delay":                          {func(in *facts) { in.config.PVCDeletionDelay.Duration = 0 }, Delete, ""},
		"any policy":                        {func(in *facts) { later(in); in.Volume.Spec.PersistentVolumeReclaimPolicy = "Retain" }, Delete, ""},
		"the claim has been deleted":        {func(in *facts) { later(in); in.Claim = nil }, Keep, ""},
		"the volume has no claim":           {func(in *facts) { later(in); in.Volume.Spec.ClaimRef = nil }, Keep, ""},
		"the claim has another volume":      {func(in *facts) { later(in); in.Claim.Spec.VolumeName = "w" }, Keep, ""},
		"the claim has no volume yet":       {func(in *facts) { later(in); in.Claim.Spec.VolumeName = "" }, Keep, ""},
		"another claim of that name":        {func(in *facts) { later(in); in.Claim.UID = "uid-d" }, Keep, ""},
		"a volume reserved for a name":      {func(in *facts) { later(in); in.Volume.Spec.ClaimRef.UID = "" }, Keep, ""},
		"a claim of another namespace":      {func(in *facts) { later(in); in.Claim.Namespace = "other" }, Keep, ""},
		"a claim of another name":           {func(in *facts) { later(in); in.Claim.Name = "other" }, Keep, ""},
		"the claim is being deleted":        {func(in *facts) { later(in); in.Claim.DeletionTimestamp = new(metav1.Now()) }, Keep, ""},
		"the claim is opted out":            {func(in *facts) { later(in); disable(in.Claim) }, Keep, "of the claim"},
		"the volume is opted out":           {func(in *facts) { later(in); disable(in.Volume) }, Keep, "of volume v"},
		"the namespace is opted out":        {func(in *facts) { later(in); in.namespace.optOut = `"disabled"` }, Keep, "of the namespace"},
		"another value of the annotation":   {func(in *facts) { later(in); in.Claim.Annotations = map[string]string{OptOutAnnotation: "enabled"} }, Delete, ""},
		"opted out before the delay ends":   {func(in *facts) { disable(in.Claim) }, Keep, "of the claim"},
		"never seen, its delay is not over": {func(in *facts) { unknown(in); in.now = noon.Add(time.Hour - 1) }, Wait, ""},
		"never seen, its delay is over":     {unknown, Delete, ""},
		"never seen, the other is longer":   {func(in *facts) { unknown(in); in.config.PVCDeletionDelay.Duration = 2 * time.Hour }, Wait, ""},
		"never seen, never":                 {func(in *facts) { unknown(in); in.config.UnknownNodeDeletionDelay.Duration = 0 }, Keep, "set --unknown-node-deletion-delay"},
		"a deletion is not worth a message": {func(in *facts) { disable(in.Claim); in.Claim.DeletionTimestamp = new(metav1.Now()) }, Keep, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := factsAt(noon, staleVolume(), boundClaim())
			test.change(&in)
			got := in.claim()
			if got.Action != test.want || !strings.Contains(got.Skipped, test.skipped) || (got.Skipped == "") != (test.skipped == "") {
				t.Errorf("got %+v", got)
			}
			if delay, _ := in.ClaimDelay(in.config); got.Action == Wait && !got.Until.Equal(noon.Add(delay)) {
				t.Errorf("it waits until %s", got.Until)
			}
		})
	}
}

func TestDecidePods(t *testing.T) {
	later := func(in *facts) { in.now = noon.Add(time.Minute) }
	for name, test := range map[string]struct {
		change func(*facts)
		want   Action
	}{
		"the claim has been deleted":      {later, Delete},
		"the delay is not over":           {func(in *facts) { in.now = noon.Add(time.Minute - 1) }, Wait},
		"the claim is there":              {func(in *facts) { later(in); in.Claim = boundClaim() }, Keep},
		"another claim of that name":      {func(in *facts) { later(in); in.Claim = boundClaim(); in.Claim.UID = "other" }, Delete},
		"no claim":                        {func(in *facts) { later(in); in.Volume.Spec.ClaimRef = nil }, Keep},
		"reserved for a claim that never": {func(in *facts) { later(in); in.Volume.Spec.ClaimRef.UID = "" }, Keep},
		"the volume is opted out":         {func(in *facts) { later(in); disable(in.Volume) }, Keep},
		"never seen":                      {func(in *facts) { later(in); in.Unknown = true }, Wait},
		"never seen, never":               {func(in *facts) { later(in); in.Unknown, in.config.UnknownNodeDeletionDelay.Duration = true, 0 }, Keep},
		"the namespace is opted out":      {func(in *facts) { later(in); in.namespace.optOut = `"disabled"` }, Keep},
	} {
		t.Run(name, func(t *testing.T) {
			in := factsAt(noon, staleVolume(), nil)
			test.change(&in)
			if got := in.pods(); got.Action != test.want {
				t.Errorf("got %+v, want %s", got, test.want)
			}
		})
	}
}

func TestDecideVolume(t *testing.T) {
	type phase = corev1.PersistentVolumePhase
	type policy = corev1.PersistentVolumeReclaimPolicy
	const (
		deletes = corev1.PersistentVolumeReclaimDelete
		retains = corev1.PersistentVolumeReclaimRetain
		recycle = corev1.PersistentVolumeReclaimRecycle
	)
	held := func(in *facts) {
		in.Volume.DeletionTimestamp, in.Volume.Finalizers = new(metav1.Now()), []string{"kubernetes.io/pv-protection", "example.com/f"}
	}
	unknown := func(in *facts) {
		in.Unknown, in.config.DeleteVolumesOfUnknownNodes, in.Volume.Spec.ClaimRef = true, new(true), nil
	}
	hostPath := func(in *facts) {
		in.Volume.Spec.Local, in.Volume.Spec.HostPath = nil, &corev1.HostPathVolumeSource{}
	}
	csi := func(in *facts) {
		in.Volume.Spec.Local, in.Volume.Spec.CSI = nil, &corev1.CSIPersistentVolumeSource{Driver: "topolvm.io"}
		in.Volume.Finalizers = []string{"kubernetes.io/pv-protection", provisionerFinalizer}
	}
	release := func(in *facts) { csi(in); in.config.ReleaseCSIVolumes = new(true) }
	for name, test := range map[string]struct {
		phase   phase
		policy  policy
		change  func(*facts)
		want    Action
		skipped string
	}{
		"Released, Delete":                     {corev1.VolumeReleased, deletes, nil, Delete, ""},
		"Released, Retain":                     {corev1.VolumeReleased, retains, nil, Keep, "Retain"},
		"Released, Recycle":                    {corev1.VolumeReleased, recycle, nil, Keep, "Recycle"},
		"Available, Delete":                    {corev1.VolumeAvailable, deletes, nil, Delete, ""},
		"Available, Retain":                    {corev1.VolumeAvailable, retains, nil, Delete, ""},
		"Bound":                                {corev1.VolumeBound, deletes, nil, Keep, ""},
		"Pending":                              {corev1.VolumePending, deletes, nil, Keep, ""},
		"no phase":                             {"", deletes, nil, Keep, ""},
		"Failed":                               {corev1.VolumeFailed, deletes, nil, Keep, "Failed"},
		"Failed, included":                     {corev1.VolumeFailed, deletes, func(in *facts) { in.config.IncludeFailedVolumes = new(true) }, Delete, ""},
		"Failed and Retain, included":          {corev1.VolumeFailed, retains, func(in *facts) { in.config.IncludeFailedVolumes = new(true) }, Keep, ""},
		"being deleted":                        {corev1.VolumeReleased, deletes, func(in *facts) { in.Volume.DeletionTimestamp = new(metav1.Now()) }, Keep, ""},
		"opted out":                            {corev1.VolumeReleased, deletes, func(in *facts) { disable(in.Volume) }, Keep, "its annotation"},
		"the namespace is opted out":           {corev1.VolumeReleased, deletes, func(in *facts) { in.namespace.optOut = `"disabled"` }, Keep, "namespace"},
		"the node has just been deleted":       {corev1.VolumeAvailable, deletes, func(in *facts) { in.now = noon.Add(settleTime - 1) }, Wait, ""},
		"the node was deleted long enough ago": {corev1.VolumeAvailable, deletes, func(in *facts) { in.now = noon.Add(settleTime) }, Delete, ""},

		"never seen, from the beginning":                  {corev1.VolumeAvailable, deletes, func(in *facts) { in.Unknown, in.now = true, noon }, Keep, "no such node was ever seen"},
		"unknown ones included, before the delay is over": {corev1.VolumeAvailable, deletes, func(in *facts) { unknown(in); in.now = noon.Add(time.Hour - 1) }, Wait, ""},
		"unknown ones included, never":                    {corev1.VolumeAvailable, deletes, func(in *facts) { unknown(in); in.config.UnknownNodeDeletionDelay.Duration = 0 }, Keep, "set --unknown-node-deletion-delay"},
		"never seen, Released":                            {corev1.VolumeReleased, deletes, func(in *facts) { in.Unknown = true }, Keep, "no such node was ever seen"},
		"unknown ones included":                           {corev1.VolumeAvailable, deletes, unknown, Delete, ""},
		"unknown ones included, Released":                 {corev1.VolumeReleased, deletes, func(in *facts) { in.Unknown, in.config.DeleteVolumesOfUnknownNodes = true, new(true) }, Delete, ""},
		"unknown ones included, Retain":                   {corev1.VolumeAvailable, retains, unknown, Keep, "its reclaim policy is Retain"},
		"unknown ones included, reserved for a claim":     {corev1.VolumeAvailable, deletes, func(in *facts) { in.Unknown, in.config.DeleteVolumesOfUnknownNodes = true, new(true) }, Keep, "reserved for claim ns/c"},
		"unknown ones included, no delay": {corev1.VolumeAvailable, deletes, func(in *facts) {
			unknown(in)
			in.config.PVCDeletionDelay.Duration, in.config.UnknownNodeDeletionDelay.Duration, in.now = 0, 1, noon.Add(settleTime-1)
		}, Wait, ""},

		"hostPath, the grace period is not over": {corev1.VolumeReleased, deletes, func(in *facts) { hostPath(in); in.now = noon.Add(10*time.Minute - 1) }, Wait, ""},
		"hostPath, the grace period is over":     {corev1.VolumeReleased, deletes, hostPath, Delete, ""},
		"hostPath, released late":                {corev1.VolumeReleased, deletes, func(in *facts) { hostPath(in); in.PhaseSince = noon.Add(55 * time.Minute) }, Wait, ""},
		"hostPath, Retain":                       {corev1.VolumeReleased, retains, hostPath, Keep, "Retain"},
		"CSI":                                    {corev1.VolumeReleased, deletes, csi, Keep, "its CSI driver topolvm.io has to delete it"},
		"CSI, to be released":                    {corev1.VolumeReleased, deletes, release, Delete, ""},
		"CSI, the grace period is not over":      {corev1.VolumeReleased, deletes, func(in *facts) { release(in); in.now = noon.Add(10*time.Minute - 1) }, Wait, ""},
		"CSI, released late":                     {corev1.VolumeReleased, deletes, func(in *facts) { release(in); in.PhaseSince = noon.Add(55 * time.Minute) }, Wait, ""},
		"CSI, Retain":                            {corev1.VolumeReleased, retains, release, Keep, "Retain"},
		"CSI, Bound":                             {corev1.VolumeBound, deletes, release, Keep, ""},
		"CSI, Bound and being deleted":           {corev1.VolumeBound, deletes, func(in *facts) { release(in); in.Volume.DeletionTimestamp = new(metav1.Now()) }, Keep, ""},
		"CSI, opted out":                         {corev1.VolumeReleased, deletes, func(in *facts) { release(in); disable(in.Volume) }, Keep, "its annotation"},
		"CSI, being deleted, not to be released": {corev1.VolumeReleased, deletes, func(in *facts) { csi(in); in.Volume.DeletionTimestamp = new(metav1.Now()) }, Keep, "has to delete it"},
		"CSI, being deleted":                     {corev1.VolumeReleased, deletes, func(in *facts) { release(in); in.Volume.DeletionTimestamp = new(metav1.Now()) }, Release, ""},
		"CSI, being deleted, but not by the driver": {corev1.VolumeReleased, deletes, func(in *facts) {
			release(in)
			in.Volume.DeletionTimestamp, in.Volume.Finalizers = new(metav1.Now()), []string{"kubernetes.io/pv-protection", "example.com/f"}
		}, Keep, "it is being deleted, and has the finalizer example.com/f, which its owner has to remove"},
		"CSI, being deleted, protected by Kubernetes": {corev1.VolumeReleased, deletes, func(in *facts) {
			release(in)
			in.Volume.DeletionTimestamp, in.Volume.Finalizers = new(metav1.Now()), []string{"kubernetes.io/pv-protection"}
		}, Keep, ""},
		"CSI, Available and Retain":           {corev1.VolumeAvailable, retains, func(in *facts) { csi(in); in.Volume.Spec.ClaimRef = nil }, Keep, "its reclaim policy is Retain"},
		"CSI, Failed, not included":           {corev1.VolumeFailed, deletes, csi, Keep, "its phase is Failed"},
		"local, being deleted, held":          {corev1.VolumeReleased, deletes, held, Keep, "it is being deleted, and has the finalizer example.com/f"},
		"local, being deleted, held just now": {corev1.VolumeReleased, deletes, func(in *facts) { held(in); in.now = noon.Add(time.Minute) }, Keep, ""},
		"CSI, being deleted, the grace period": {corev1.VolumeReleased, deletes, func(in *facts) {
			release(in)
			in.Volume.DeletionTimestamp, in.now = new(metav1.Now()), noon.Add(time.Minute)
		}, Wait, ""},
		"CSI, being deleted, and opted out": {corev1.VolumeReleased, deletes, func(in *facts) {
			release(in)
			in.Volume.DeletionTimestamp = new(metav1.Now())
			disable(in.Volume)
		}, Keep, "its annotation"},
		"CSI, a node that was never seen, included": {corev1.VolumeReleased, deletes, func(in *facts) { release(in); in.Unknown, in.config.DeleteVolumesOfUnknownNodes = true, new(true) }, Delete, ""},
		"CSI, a node that was never seen, not an hour": {corev1.VolumeReleased, deletes, func(in *facts) {
			release(in)
			in.Unknown, in.config.DeleteVolumesOfUnknownNodes, in.now = true, new(true), noon.Add(time.Hour-1)
		}, Wait, ""},
		"CSI, a node that was never seen": {corev1.VolumeReleased, deletes, func(in *facts) { release(in); in.Unknown = true }, Keep, "no such node was ever seen"},
		"CSI, Available and reserved":     {corev1.VolumeAvailable, deletes, release, Keep, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := factsAt(noon.Add(time.Hour), staleVolume(func(v *corev1.PersistentVolume) {
				v.Status.Phase, v.Spec.PersistentVolumeReclaimPolicy = test.phase, test.policy
			}), nil)
			if test.change != nil {
				test.change(&in)
			}
			got := in.volume()
			if got.Action != test.want || !strings.Contains(got.Skipped, test.skipped) || (got.Skipped == "") != (test.skipped == "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestBrake(t *testing.T) {
	for name, test := range map[string]struct {
		nodes, missing, live int
		limit                float64
		acknowledged         int
		engaged              bool
	}{
		"nothing is missing":                       {10, 0, 10, 0.55, 0, false},
		"one of two":                               {1, 1, 1, 0.55, 0, false},
		"both of two, others live":                 {8, 2, 0, 0.55, 0, false},
		"three of five reach it":                   {2, 3, 2, 0.55, 0, true},
		"three of six do not":                      {3, 3, 3, 0.55, 0, false},
		"11 of 20 reach it":                        {9, 11, 9, 0.55, 0, true},
		"10 of 20 do not":                          {10, 10, 10, 0.55, 0, false},
		"a lower limit":                            {7, 3, 7, 0.3, 0, true},
		"all of many":                              {100, 10, 0, 0.55, 0, true},
		"an empty list, one missing":               {0, 1, 0, 0.55, 0, true},
		"an empty list, nothing to do":             {0, 0, 0, 0.55, 0, false},
		"off":                                      {9, 11, 9, 1, 0, false},
		"off, and an empty list":                   {0, 11, 0, 1, 0, false},
		"acknowledged":                             {9, 11, 9, 0.55, 11, false},
		"acknowledged, but more have been deleted": {8, 12, 8, 0.55, 11, true},
		"an acknowledged empty list":               {0, 3, 0, 0.55, 3, false},
		"an empty list with more than that":        {0, 4, 0, 0.55, 3, true},
	} {
		reason := brake(Census{Nodes: test.nodes, Missing: test.missing, Live: test.live}, test.limit, test.acknowledged)
		if (reason != "") != test.engaged {
			t.Errorf("%s: %q", name, reason)
		}
	}
}
