// Package page shows Applications to people who look before they read: as pages that
// `holdfast ui` serves on the loopback address, and as one file that `status` and
// `explain` write with -o html.
//
// A page is a view of what package report and plan.Explain say; it decides nothing, and
// writes nothing to a cluster. All text on it goes through html/template. Its styles and
// scripts are embedded; the browser gets nothing from elsewhere.
package page
