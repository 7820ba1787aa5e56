// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// outcome is a check that is over.
type outcome struct {
	// stage is the one that was checked. "": nothing was checked, and nothing may be concluded.
	stage kubernikusv1.DeorbitStage
	// parts are what was checked: the stage itself, or in stage Release what it repeats.
	parts []part
	// own is true when the workload cluster is the one that Groundskeeper runs in. Nothing was done then.
	own bool
	// held is why nothing was done, because other objects lead to the cluster; nil: it was.
	held *hold
	// thawed is true when the cluster is not frozen any more, and lifted when the check made it so.
	thawed, lifted bool
}

// part is one stage's part of a check.
type part struct {
	stage   kubernikusv1.DeorbitStage
	report  stage.Report
	failure *failure
}

// failure is why a check could not see what it had to.
type failure struct {
	reason, message string
	// cluster is true when the workload cluster could not be used, whatever the reason.
	cluster bool
	// waits is true when the workload cluster may be alive and only another Secret, or more permissions, let Groundskeeper check
	// it: it is never given up for that.
	waits bool
	// silent is true when no API server responded, or none is known.
	silent bool
	// True when the failure reports nothing of the cluster and the cloud: only another try helps.
	own bool
	// retryAfter is how long a service requests to wait.
	retryAfter time.Duration
}

// Reasons of the condition Deorbited besides the names of stages and the reasons of package openstack.
const (
	reasonUnreachable   = string(openstack.ReasonUnreachable)
	reasonSecretMissing = "SecretMissing"
	reasonSecretInvalid = "SecretInvalid"
	reasonNoCredentials = "NoCredentials"
	reasonNoHost        = "HostUnknown"
	reasonFailed        = "Failed"
	// reasonOwnCluster means that the workload cluster is the one that Groundskeeper runs in.
	reasonOwnCluster = "OwnCluster"
	// reasonProtected and reasonPaused mean that an annotation requests to wait.
	reasonProtected = "TerminationProtected"
	reasonPaused    = "Paused"
)

// clusterFailure returns the failure of a workload cluster that does not do what it has to. One that rejects Groundskeeper is
// alive.
func clusterFailure(err error) *failure {
	f := &failure{reason: reasonUnreachable, message: "the API server of the cluster cannot be used: " + err.Error(), cluster: true}
	_, responded := errors.AsType[*apierrors.StatusError](err)
	f.silent = !responded
	switch {
	case apierrors.IsUnauthorized(err):
		f.reason, f.waits = string(openstack.ReasonCredentialsRefused), true
		f.message = "the API server of the cluster does not accept the credentials: renew them in the Secret: " + err.Error()
	case apierrors.IsForbidden(err):
		f.reason, f.waits = string(openstack.ReasonForbidden), true
		f.message = "the user of the kubeconfig lacks a permission in the cluster: apply artifacts/kluster/workload there: " + err.Error()
	}
	return f
}

// wayFailure returns the failure to find the way into the workload cluster.
func wayFailure(secret string, err error) *failure {
	f := &failure{reason: reasonSecretInvalid, message: "secret " + secret + ": " + err.Error(), cluster: true, waits: true, silent: true}
	switch {
	case errors.Is(err, kluster.ErrNoSecret):
		f.reason, f.message = reasonSecretMissing, err.Error()
	case errors.Is(err, kluster.ErrNoWorkload):
		f.reason, f.message, f.waits = reasonNoCredentials, "secret "+secret+" "+err.Error(), false
	case errors.Is(err, kluster.ErrNoHost):
		f.reason, f.message, f.waits = reasonNoHost, err.Error(), false
	}
	return f
}

// cloudFailure returns the failure of OpenStack, or to find the way into it.
func cloudFailure(err error) *failure {
	f := &failure{reason: string(openstack.ReasonOf(err)), message: err.Error(), retryAfter: openstack.RetryAfter(err)}
	if errors.Is(err, kluster.ErrNoSecret) {
		f.reason = reasonSecretMissing
	}
	return f
}

// internalFailure returns a failure of the API server that Groundskeeper runs with.
func internalFailure(err error) *failure {
	return &failure{reason: reasonFailed, message: err.Error(), own: true}
}

// failure returns the first failure of a check.
func (o outcome) failure() *failure {
	for _, p := range o.parts {
		if p.failure != nil {
			return p.failure
		}
	}
	return nil
}

// remains reports whether an object still has to be deleted.
func (o outcome) remains() bool {
	for _, p := range o.parts {
		if len(p.report.Remaining) > 0 {
			return true
		}
	}
	return false
}
