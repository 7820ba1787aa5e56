// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// errDisabled means that no client gets a token for a project.
var errDisabled = errors.New("the project is disabled")

// problemOf converts an error of a request to OpenStack to a problem, whose message follows "the backend". It is the same as long
// as the cause is, although the errors contain request ids that change with every try.
func problemOf(err error) report.Problem {
	authentication := func(message string) report.Problem {
		return report.Problem{Type: gimbalv1.ErrorAuthentication, Message: message}
	}
	connection := func(message string) report.Problem {
		return report.Problem{Type: gimbalv1.ErrorConnection, Message: message}
	}
	if errors.Is(err, errDisabled) {
		return report.Problem{Type: gimbalv1.ErrorInvalidService, Message: "has it disabled: enable it, or take it out of " +
			"--openstack-project-watchlist"}
	}
	limited := func(message string) report.Problem {
		return report.Problem{Type: gimbalv1.ErrorRateLimited, Message: message}
	}
	switch openstack.ReasonOf(err) {
	case openstack.ReasonCredentialsRefused:
		return authentication("rejects the credentials: put valid ones into the Secret")
	case openstack.ReasonCredentialsInvalid:
		return authentication("has no Keystone that takes credentials of this form: correct the URL of Keystone and the project in the Secret")
	case openstack.ReasonForbidden:
		return authentication("does not let the user list load balancers: give it the role load-balancer_observer, or reader, in the project")
	case openstack.ReasonServiceMissing:
		return connection("has no service for load balancing in its catalog: correct region and interface in the Secret, or install Octavia")
	case openstack.ReasonRateLimited:
		if responseOf(err) != report.Limited {
			return limited("gets no more requests within --openstack-client-qps: raise it, or --reconciliation-period")
		}
		return limited("rejects requests because there are too many (status 429): raise its limit for this user, or --reconciliation-period")
	case openstack.ReasonIncomplete:
		return connection("responds with lists that are not whole: see the log of the discoverer")
	default:
		return connection(unreachable(err))
	}
}

// unreachable reports why there is no response that can be used.
func unreachable(err error) string {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var hostname x509.HostnameError
	var dns *net.DNSError
	var network net.Error
	response, ok := errors.AsType[*openstack.Error](err)
	switch {
	case ok && response.Status > 0:
		return fmt.Sprintf("responds with status %d: see whether Keystone and Octavia are healthy", response.Status)
	case errors.As(err, &unknown):
		return "has a certificate of an unknown authority: put the right certificate-authority-data into the Secret"
	case errors.As(err, &hostname):
		return "has a certificate for another host: correct the URL of Keystone in the Secret, or the catalog"
	case errors.As(err, &invalid):
		return "has a certificate that is not valid, or not any more: renew it there"
	case errors.As(err, &dns):
		return "has a host name that cannot be resolved: correct the URL of Keystone in the Secret, or the catalog"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "rejects connections: see whether Keystone and Octavia run"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "does not respond before the timeout: see whether it runs and can be reached, and raise --http-client-timeout if it is slow"
	default:
		return "does not respond: see whether it runs and can be reached, and the log of the discoverer"
	}
}

// unanswered are the reasons that an error without a status may have although the cloud has not responded.
var unanswered = []openstack.Reason{
	openstack.ReasonUnreachable, openstack.ReasonCredentialsInvalid, openstack.ReasonRateLimited, openstack.ReasonCanceled,
}

// responseOf returns what the result of a request shows about whether the cloud responds. An error that is none of a request is about what
// the cloud has responded.
func responseOf(err error) report.Response {
	e, ok := errors.AsType[*openstack.Error](err)
	switch {
	case ok && e.Status > 0 && e.Reason == openstack.ReasonRateLimited:
		return report.Limited
	case err == nil, !ok, e.Status > 0 && e.Status/100 != 3, e.Status == 0 && !slices.Contains(unanswered, e.Reason):
		return report.Responded
	case e.Status == 0 && report.IsSilence(err):
		return report.Silent
	}
	return report.Unclear
}

// isSilent reports whether there was no response: then there will be none for another project either.
func isSilent(err error) bool {
	e, ok := errors.AsType[*openstack.Error](err)
	return ok && e.Reason == openstack.ReasonUnreachable && e.Status == 0
}
