"""Results become readable: a table for the terminal, one page of HTML with plots. Nothing here measures anything."""

from penstock.report.endpoint import findings
from penstock.report.html import page
from penstock.report.table import table

__all__ = ["findings", "page", "table"]
