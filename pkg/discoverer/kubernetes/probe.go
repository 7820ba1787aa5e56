// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/identity"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

// Probe queries the backend for one Service and one EndpointSlice, now and every period, until ctx is done, and calls its callback
// with the problem, nil when it responds. A watch does not show that credentials have expired: it continues with them for up to an
// hour; nor, for a while, that the cluster no longer exists, or has been replaced.
func (u *Upstream) Probe(ctx context.Context, ticking clock.WithTicker, period time.Duration, notify func(*report.Problem)) {
	ticker := ticking.NewTicker(period)
	defer ticker.Stop()
	for {
		err := u.query(ctx)
		if ctx.Err() != nil {
			return
		}
		if local := (*identity.LocalError)(nil); errors.As(err, &local) {
			// The backend responds, and what was reported of it still holds.
			u.Contact(report.Responded)
			logr.FromContextOrDiscard(ctx).Error(err, "Failed to compare the backend with the recorded one, trying again")
		} else {
			u.Contact(responseOf(err))
			notify(Classify(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// query returns a rejection at once: the next probe is the next try.
func (u *Upstream) query(ctx context.Context) error {
	ctx = client.AtOnce(ctx)
	namespace := metav1.NamespaceAll
	if len(u.Namespaces) > 0 {
		namespace = u.Namespaces[0]
	}
	if _, err := u.Client.Services(namespace).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return err
	}
	if _, err := u.Client.EndpointSlices(namespace).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return err
	}
	if err := u.queryExports(ctx, namespace); err != nil {
		return err
	}
	if err := u.verify(ctx); err != nil {
		return err
	}
	return u.limits.err()
}

// responseOf returns what the result of a request shows about whether the backend responds.
func responseOf(err error) report.Response {
	var status apierrors.APIStatus
	var rejection *identity.Rejection
	switch {
	case apierrors.IsTooManyRequests(err):
		return report.Limited
	case err == nil, errors.As(err, &status), errors.As(err, &rejection):
		return report.Responded
	case report.IsSilence(err):
		return report.Silent
	}
	return report.Unclear
}

// Classify converts an error of a request to the backend to a problem; nil stays nil. The message is the same as long as the cause
// is, although the errors contain port numbers that change with every try.
func Classify(err error) *report.Problem {
	connection := func(format string, args ...any) *report.Problem {
		return &report.Problem{Type: gimbalv1.ErrorConnection, Message: fmt.Sprintf("the backend "+format, args...)}
	}
	authentication := func(message string) *report.Problem {
		return &report.Problem{Type: gimbalv1.ErrorAuthentication, Message: message}
	}
	var alert tls.AlertError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var hostname x509.HostnameError
	var dns *net.DNSError
	var network net.Error
	var status apierrors.APIStatus
	var rejection *identity.Rejection
	var exports *exportsError
	var redirect *client.RedirectError
	var operation *net.OpError
	var record tls.RecordHeaderError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &redirect):
		return connection("redirects to %s, which is not followed because the credentials would go there: put the address of the API server "+
			"itself into the kubeconfig", redirect.To)
	case errors.As(err, &exports) && apierrors.IsNotFound(err):
		return connection("does not serve serviceexports.multicluster.x-k8s.io: install this CustomResourceDefinition there, or set " +
			"cluster.servicePolicy to All")
	case errors.As(err, &exports) && apierrors.IsForbidden(err):
		return authentication("the credentials may not list serviceexports: give their user permission to list and watch them in the backend, " +
			"or set cluster.servicePolicy to All")
	case errors.As(err, &rejection):
		return &rejection.Problem
	case apierrors.IsTooManyRequests(err):
		return &report.Problem{Type: gimbalv1.ErrorRateLimited, Message: "the backend rejects requests because there are too many " +
			"(status 429): give the user of the credentials a larger share in the API Priority and Fairness of the backend, or relieve its " +
			"API server"}
	case apierrors.IsUnauthorized(err), errors.As(err, &alert):
		return authentication("the backend rejects the credentials: put valid ones into the Secret")
	case apierrors.IsForbidden(err):
		return authentication("the credentials may not list services and endpointslices: give their user permission to list and watch them in " +
			"the backend")
	case errors.As(err, &unknown):
		return connection("has a certificate of an unknown authority: put the right certificate-authority-data into the kubeconfig")
	case errors.As(err, &hostname):
		return connection("has a certificate for another host: correct the server, or tls-server-name, in the kubeconfig")
	case errors.As(err, &invalid):
		return connection("has a certificate that is not valid, or not any more: renew it there")
	case errors.As(err, &dns):
		return connection("has a host name that cannot be resolved: correct the server in the kubeconfig")
	case errors.Is(err, syscall.ECONNREFUSED) && report.IsSilence(err):
		return connection("rejects connections: see whether it runs")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &network) && network.Timeout() && report.IsSilence(err):
		return connection("does not respond before the timeout: see whether it runs and can be reached")
	case errors.As(err, &status) && status.Status().Code > 0:
		return connection("responds with status %d: see whether its API server is healthy", status.Status().Code)
	case report.IsSilence(err):
		return connection("does not respond: see whether it runs and can be reached, and the log of the discoverer")
	case errors.As(err, &operation) && operation.Op == "proxyconnect":
		return connection("cannot be reached by way of the proxy: correct proxy-url in the kubeconfig, or the proxy")
	case strings.Contains(err.Error(), "invalid header field value"):
		return authentication("the credentials cannot be sent in an HTTP header: put a token without blanks and line breaks into the Secret")
	case errors.As(err, &record):
		return connection("does not respond with TLS: correct the server in the kubeconfig")
	default:
		return connection("gets no request, or its response cannot be read: see the log of the discoverer for the reason")
	}
}
