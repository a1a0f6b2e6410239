"""The network calendar: releases of node software and upgrades of networks, one dated data file per chain."""

from server.catalog.calendar.configured import open_calendar
from server.catalog.calendar.entries import Announcement, Calendar

__all__ = ["Announcement", "Calendar", "open_calendar"]
