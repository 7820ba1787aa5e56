// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

// LostNodes is what the cleanup of local volumes records: it decides, and the page shows it.
type LostNodes struct {
	localvolume.Recorded
	// Findings are those of "status", of all volumes.
	Findings []report.Finding `json:"findings"`
	// Waiting are Pending pods that use the claim of a volume, by its namespace and name.
	Waiting map[string][]string `json:"waiting"`
	// Problems are what could not be read.
	Problems []string `json:"problems"`
}

// FindRecord reads what the cleanup of local volumes recorded, nil if nothing. problem is why that is unknown: the user is not allowed to.
func FindRecord(ctx context.Context, c client.Reader) (recorded *localvolume.Recorded, problem string, err error) {
	recorded, err = localvolume.FindRecord(ctx, c, uninstall.SystemNamespace, localvolume.WorkloadRecordNamespace)
	if apierrors.IsForbidden(err) {
		return nil, fmt.Sprintf("you are not allowed to get ConfigMap %s in namespaces %s and %s, of which one may have it",
			localvolume.RecordName, uninstall.SystemNamespace, localvolume.WorkloadRecordNamespace), nil
	}
	return recorded, "", err
}

// lostNodes reads the record, and which pods wait for the claims in it.
func (r *reader) lostNodes(ctx context.Context) (*LostNodes, error) {
	view := &LostNodes{Waiting: map[string][]string{}, Problems: []string{}}
	recorded, problem, err := FindRecord(ctx, r.client)
	switch {
	case err != nil:
		return nil, err
	case problem != "":
		view.Problems = append(view.Problems, problem)
	case recorded != nil:
		view.Recorded, view.Findings = *recorded, report.LocalVolumes(recorded, len(recorded.Volumes), r.Clock.Now())
		r.waiting(ctx, view)
	}
	return view, nil
}

// waiting adds the pods that wait for the claims.
func (r *reader) waiting(ctx context.Context, view *LostNodes) {
	claims := map[string]bool{}
	for _, volume := range view.Volumes {
		if len(volume.Nodes) > 0 && volume.Claim != "" {
			claims[volume.Claim] = true
		}
	}
	if len(claims) == 0 {
		return
	}
	var pods corev1.PodList
	err := r.client.List(ctx, &pods, client.InNamespace(r.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("status.phase", string(corev1.PodPending))})
	if err != nil {
		what := "list pods in all namespaces"
		if r.Namespace != "" {
			what = "list pods in namespace " + r.Namespace
		}
		view.Problems = append(view.Problems, r.unknown(err, what))
		return
	}
	for _, pod := range pods.Items {
		for _, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim == nil {
				continue
			}
			name := pod.Namespace + "/" + pod.Name
			if claim := pod.Namespace + "/" + v.PersistentVolumeClaim.ClaimName; claims[claim] && !slices.Contains(view.Waiting[claim], name) {
				view.Waiting[claim] = append(view.Waiting[claim], name)
			}
		}
	}
}
