"""Results become readable: a table for the terminal, one page of HTML with plots, plots as files, Markdown for READMEs.

Nothing here measures anything, and every number shown is one of the result, or what `results` concludes from it.

    results → entries   what is shown, under which names
            → figures   which plots there are, and their numbers as tables
            → plots     each as SVG, for a width
            → page, files, markdown
"""

from penstock.report.endpoint import findings
from penstock.report.entries import studies
from penstock.report.figures import figures
from penstock.report.files import write_png, write_svg
from penstock.report.markdown import markdown
from penstock.report.page import page
from penstock.report.table import table
from penstock.report.trace import write_trace

__all__ = ["figures", "findings", "markdown", "page", "studies", "table", "write_png", "write_svg", "write_trace"]
