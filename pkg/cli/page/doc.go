// Package page shows Applications graphically: as pages that `holdfast ui` serves on the loopback address,
// and as one file that `status` and `explain` write with -o html.
//
// A page shows the results of package report and of package explain. It decides nothing, and writes nothing to a
// cluster. All text on a page is escaped by html/template. Styles and scripts are embedded; the browser loads
// nothing from other servers.
//
// Every request to the server passes through guard. Values of Secrets are masked on every page, because a user
// may show a page to others.
package page
